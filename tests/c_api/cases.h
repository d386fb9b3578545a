/* The cases of the C interface: written in C99, run by c_api_test.cpp one test each. */
#ifndef OXBOW_TESTS_C_API_CASES_H
#define OXBOW_TESTS_C_API_CASES_H

#include <oxbow/oxbow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports a failed check to the test that runs. */
void test_failed(const char* file, int line, const char* expression);

/* X(name) for each case; a case is `void case_NAME(void)`. */
#define OXBOW_C_CASES(X)                                   \
  X(TheHeaderAndTheLibraryHaveOneVersion)                  \
  X(EveryCodeHasAName)                                     \
  X(AModelSaysWhatItIs)                                    \
  X(StateSizesOfLayersAddUpToTheModels)                    \
  X(AWindowedLayerSaysItsWindow)                           \
  X(AModelWithoutWeightsAnswersButDoesNotRun)              \
  X(LoadingReportsProgressAndCanBeStopped)                 \
  X(FilesThatAreNoModelsAreRefusedByName)                  \
  X(AThreadHasItsOwnLastError)                             \
  X(MessagesGoToTheCallback)                               \
  X(TextBecomesTokensAndComesBack)                         \
  X(AShortBufferIsToldHowMuchIsNeeded)                     \
  X(UsersTextCannotBecomeControlTokens)                    \
  X(TokensOutsideTheVocabularyAreEmpty)                    \
  X(NullArgumentsAreErrors)                                \
  X(FreedAndForeignHandlesAreNotFound)                     \
  X(AnEngineKeepsItsModelAlive)                            \
  X(StructuresOfOtherVersionsAreUnderstood)                \
  X(OptionsOutOfRangeAreRefused)                           \
  X(LogitsDoNotDependOnHowTokensAreCutIntoSteps)           \
  X(LogitsDoNotDependOnTheBatch)                           \
  X(AForkContinuesWithTheSameBits)                         \
  X(ACutSequenceContinuesWithTheSameBits)                  \
  X(BeyondItsReachASequenceSaysWhatItStillHolds)           \
  X(APromptIsReusedWithTheSameBitsAndTheReasonForTheRest)  \
  X(AConversationReusesWhatWasKept)                        \
  X(PartitionsDoNotShare)                                  \
  X(ReopeningBringsASequenceToAPrompt)                     \
  X(EvictedCheckpointsAreMissedAndNothingElse)             \
  X(ASequenceNamesItsTokensAndItsEnd)                      \
  X(AStepThatIsRefusedChangesNothing)                      \
  X(WhatDoesNotFitTheBudgetIsAnErrorThatDisturbsNothing)   \
  X(TheEngineSaysWhatItsMemoryHolds)                       \
  X(ASavedSequenceContinuesInAnotherEngineWithTheSameBits) \
  X(AFileOfOtherSettingsGivesItsTokensAndTheReason)        \
  X(ADamagedFileIsRefusedAndChangesNothing)                \
  X(ASamplerWithoutTemperatureTakesTheMostLikelyToken)     \
  X(TheSameSeedGivesTheSameTokens)                         \
  X(SamplerSettingsOutOfRangeAreRefused)

#define OXBOW_DECLARE_CASE(name) void case_##name(void);
OXBOW_C_CASES(OXBOW_DECLARE_CASE)
#undef OXBOW_DECLARE_CASE

#ifdef __cplusplus
}
#endif

#endif
