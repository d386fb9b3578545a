/* Choosing tokens. */
#include <math.h>

#include "support.h"

void case_ASamplerWithoutTemperatureTakesTheMostLikelyToken(void) {
  const float logits[] = {0.5f, 2.0f, NAN, 2.0f, -1.0f};
  const oxbow_token recent[] = {1, -3, 99};
  oxbow_sampler_settings settings = {.struct_size = sizeof settings};
  oxbow_sampler* sampler = NULL;
  oxbow_token token = OXBOW_NO_TOKEN;
  OK(oxbow_sampler_defaults(NULL, &settings));
  CHECK(settings.temperature > 0.0f && settings.repeat_penalty == 1.0f);
  settings.temperature = 0.0f;
  OK(oxbow_sampler_create(&settings, &sampler));
  OK(oxbow_sampler_sample(sampler, logits, COUNT_OF(logits), NULL, 0, &token));
  CHECK(token == 1);
  OK(oxbow_sampler_free(sampler));
  settings.repeat_penalty = 2.0f;
  OK(oxbow_sampler_create(&settings, &sampler));
  OK(oxbow_sampler_sample(sampler, logits, COUNT_OF(logits), recent, COUNT_OF(recent), &token));
  CHECK(token == 3);
  FAILS(oxbow_sampler_sample(sampler, logits, 0, NULL, 0, &token), OXBOW_INVALID_INPUT, "logits");
  FAILS(oxbow_sampler_sample(sampler, NULL, 3, NULL, 0, &token), OXBOW_INVALID_INPUT, "logits");
  FAILS(oxbow_sampler_sample(sampler, logits, 3, NULL, 2, &token), OXBOW_INVALID_INPUT, "recent");
  FAILS(oxbow_sampler_sample(sampler, logits, 3, NULL, 0, NULL), OXBOW_INVALID_INPUT, "token");
  OK(oxbow_sampler_free(sampler));
}

void case_TheSameSeedGivesTheSameTokens(void) {
  enum { kDraws = 64 };
  oxbow_token drawn[3][kDraws];
  const uint64_t seeds[3] = {5, 5, 6};
  float logits[40];
  for (size_t i = 0; i < COUNT_OF(logits); ++i) logits[i] = 0.01f * (float)(i % 7);
  for (size_t s = 0; s < 3; ++s) {
    oxbow_sampler_settings settings = {.struct_size = sizeof settings};
    oxbow_sampler* sampler = NULL;
    OK(oxbow_sampler_defaults(NULL, &settings));
    settings.temperature = 1.0f;
    settings.seed = seeds[s];
    OK(oxbow_sampler_create(&settings, &sampler));
    for (size_t i = 0; i < kDraws; ++i) {
      OK(oxbow_sampler_sample(sampler, logits, COUNT_OF(logits), NULL, 0, &drawn[s][i]));
      CHECK(drawn[s][i] >= 0 && drawn[s][i] < (oxbow_token)COUNT_OF(logits));
    }
    OK(oxbow_sampler_free(sampler));
  }
  CHECK(memcmp(drawn[0], drawn[1], sizeof drawn[0]) == 0);
  CHECK(memcmp(drawn[0], drawn[2], sizeof drawn[0]) != 0);
}

void case_SamplerSettingsOutOfRangeAreRefused(void) {
  oxbow_sampler_settings settings = {.struct_size = sizeof settings};
  oxbow_sampler* sampler = NULL;
  OK(oxbow_sampler_defaults(NULL, &settings));
  settings.temperature = -1.0f;
  FAILS(oxbow_sampler_create(&settings, &sampler), OXBOW_INVALID_INPUT, "temperature");
  settings.temperature = 1.0f;
  settings.top_p = NAN;
  FAILS(oxbow_sampler_create(&settings, &sampler), OXBOW_INVALID_INPUT, "top-p");
  CHECK(sampler == NULL);
  FAILS(oxbow_sampler_create(NULL, NULL), OXBOW_INVALID_INPUT, "sampler");
  FAILS(oxbow_sampler_defaults(NULL, NULL), OXBOW_INVALID_INPUT, "settings");
}
