/* Oxbow: hybrid language models on the CPU, with a memory that rewinds, forks and reuses recurrent state.
 *
 * The C interface, C99 and newer. A guide with examples is docs/c-api.md.
 *
 * Errors. Every function that can fail returns an oxbow_result; OXBOW_OK is 0. The text of the latest failure
 * on the calling thread is oxbow_last_error(). A call that fails leaves everything as it was, except where it
 * says otherwise, and does not write its results. No C++ exception leaves the library, and no argument that
 * can be told to be wrong (null, freed, out of range) ends the process. Pointers that are neither null nor
 * valid cannot be told.
 *
 * Handles. oxbow_model, oxbow_engine and oxbow_sampler are opaque; their pointers mean nothing to the caller.
 * A freed handle is never given out again: using it is OXBOW_NOT_FOUND. An engine keeps its model alive, so
 * handles may be freed in any order.
 *
 * Threads. Models are immutable: any number of threads may ask them, and engines may share them. An engine,
 * with all its sequences, and a sampler work for one thread at a time: a second thread that comes meanwhile
 * gets OXBOW_INVALID_STATE. Freeing waits for nobody: what a running call still needs goes with its end.
 *
 * Ownership. The library copies what it is given and keeps no pointer of the caller beyond a call. Each
 * function that returns a pointer says how long it lives. Lists are copied into the caller's buffer: *count
 * becomes the number of elements; when that is more than `capacity`, nothing else is written and the status
 * is OXBOW_BUFFER_TOO_SMALL. A capacity of 0 (with a null buffer) asks for the count.
 *
 * Structures that begin with struct_size may grow: set it to sizeof the structure and clear the rest
 * (`oxbow_engine_options options = {.struct_size = sizeof options};`). 0 in a member of a structure that is
 * read means the default. What a caller's header does not know stays at its default; a member that the
 * library does not know must be 0, else the status is OXBOW_UNSUPPORTED. Structures without struct_size never
 * change.
 */
#ifndef OXBOW_OXBOW_H
#define OXBOW_OXBOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OXBOW_VERSION_MAJOR 0
#define OXBOW_VERSION_MINOR 1
#define OXBOW_VERSION_PATCH 0

#if defined(__GNUC__)
#define OXBOW_API __attribute__((visibility("default")))
#else
#define OXBOW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors and the library itself ---- */

typedef enum oxbow_result {
  OXBOW_OK = 0,
  OXBOW_INVALID_INPUT = 1,    /* a file or argument breaks its rules */
  OXBOW_UNSUPPORTED = 2,      /* well formed, but not something this build can do */
  OXBOW_NOT_FOUND = 3,        /* no such file, handle or sequence */
  OXBOW_IO = 4,               /* the operating system refused */
  OXBOW_OUT_OF_BUDGET = 5,    /* would exceed the engine's memory budget */
  OXBOW_INVALID_STATE = 6,    /* the call does not fit the object's state, or another thread is using it */
  OXBOW_BUFFER_TOO_SMALL = 7, /* *count says how much is needed */
  OXBOW_OUT_OF_MEMORY = 8,    /* the system has no memory */
  OXBOW_INTERNAL = 9          /* a fault of the library */
} oxbow_result;

/* What went wrong in the latest call that failed on this thread; empty when none did. UTF-8. Valid until the
 * next call that fails on this thread. Never null. */
OXBOW_API const char* oxbow_last_error(void);

/* A word for a status, for example "out of budget"; static. */
OXBOW_API const char* oxbow_result_name(oxbow_result status);

/* "MAJOR.MINOR.PATCH" of the library that runs; static. */
OXBOW_API const char* oxbow_version(void);

typedef enum oxbow_log_level {
  OXBOW_LOG_DEBUG = 0,
  OXBOW_LOG_INFO = 1,
  OXBOW_LOG_WARNING = 2,
  OXBOW_LOG_ERROR = 3
} oxbow_log_level;

/* The texts live during the call. May be called from any thread that is inside the library. */
typedef void (*oxbow_log_callback)(oxbow_log_level level, const char* module, const char* message,
                                   void* user);

/* Where messages go; the library never prints. Null (the default) drops them. Set it before other threads use
 * the library. */
OXBOW_API oxbow_result oxbow_set_log(oxbow_log_callback callback, void* user);

/* ---- Models ---- */

typedef struct oxbow_model oxbow_model;

typedef struct oxbow_model_options {
  size_t struct_size;
  int32_t threads;    /* for loading; 0: all usable cores */
  bool allow_unknown; /* load a file with settings or tensors that the architecture does not know */
  bool shapes_only;   /* leave the weights out: the model answers questions and tokenizes, it cannot run */
  bool exact;         /* multiply with decoded weights: slow, four bytes per weight; for comparisons */
  /* Called while loading with the bytes done and in all. Returning false stops: OXBOW_INVALID_STATE. */
  bool (*progress)(size_t done_bytes, size_t total_bytes, void* user);
  void* progress_user;
} oxbow_model_options;

/* Loads a GGUF file; any one part of a split model stands for all. options may be null. */
OXBOW_API oxbow_result oxbow_model_load(const char* path, const oxbow_model_options* options,
                                        oxbow_model** model);
/* Null is fine. */
OXBOW_API oxbow_result oxbow_model_free(oxbow_model* model);

/* Texts live as long as the model handle. */
typedef struct oxbow_model_info {
  size_t struct_size;
  const char* architecture; /* general.architecture */
  bool is_recurrent;        /* keeps recurrent states only */
  bool is_hybrid;           /* keeps recurrent states, and keys and values */
  size_t layers;
  size_t embedding;      /* width of the residual stream */
  size_t vocabulary;     /* tokens; the length of a row of logits */
  size_t context_length; /* tokens in training */
  uint64_t parameters;
  size_t weight_bytes;       /* resident */
  size_t state_bytes;        /* recurrent state of one position, all layers */
  size_t log_row_bytes;      /* what the log keeps of one token to replay it, all layers */
  size_t kv_bytes_per_token; /* keys and values in f16, all layers; twice that in f32 */
  bool has_tokenizer;        /* else the tokenizer's functions say what the file lacks */
} oxbow_model_info;

OXBOW_API oxbow_result oxbow_model_describe(const oxbow_model* model, oxbow_model_info* info);

/* The same answers alone. False for a bad handle, with oxbow_last_error() set. */
OXBOW_API bool oxbow_model_is_recurrent(const oxbow_model* model);
OXBOW_API bool oxbow_model_is_hybrid(const oxbow_model* model);

typedef struct oxbow_layer_info {
  size_t struct_size;
  /* One letter per mixer: A attention, W windowed attention, L latent attention, M Mamba, D gated delta net,
   * K Kimi delta attention, R RWKV, C short convolution. Then F dense or E expert feed-forward, if any. */
  const char* letters;
  size_t state_bytes;        /* recurrent state of one position; 0: none */
  size_t log_row_bytes;      /* what the log keeps of one token */
  size_t kv_bytes_per_token; /* keys and values in f16 */
  size_t window_tokens;      /* keys and values are kept for this many tokens only; 0: for all */
} oxbow_layer_info;

/* layer: 0 to layers - 1. */
OXBOW_API oxbow_result oxbow_model_describe_layer(const oxbow_model* model, size_t layer,
                                                  oxbow_layer_info* info);

/* ---- Tokens ---- */

typedef int32_t oxbow_token;
#define OXBOW_NO_TOKEN ((oxbow_token)-1)

enum {
  OXBOW_ADD_SPECIAL = 1,   /* put the begin token before, the end token after, where the vocabulary says so */
  OXBOW_PARSE_SPECIAL = 2, /* control tokens written in the text become those tokens: not for users' text */
  OXBOW_SHOW_SPECIAL = 4   /* when decoding: control tokens are their texts, not nothing */
};

/* text: any bytes. flags: OXBOW_ADD_SPECIAL, OXBOW_PARSE_SPECIAL or both. */
OXBOW_API oxbow_result oxbow_tokenize(const oxbow_model* model, const char* text, size_t text_bytes,
                                      unsigned flags, oxbow_token* tokens, size_t capacity, size_t* count);
/* The bytes of the tokens, without a terminating zero; not always whole UTF-8 characters. flags: 0 or
 * OXBOW_SHOW_SPECIAL. */
OXBOW_API oxbow_result oxbow_detokenize(const oxbow_model* model, const oxbow_token* tokens,
                                        size_t token_count, unsigned flags, char* text, size_t capacity,
                                        size_t* count);
/* The bytes of one token as it continues a text. They live as long as the model handle. Empty for ids outside
 * the vocabulary. */
OXBOW_API oxbow_result oxbow_token_bytes(const oxbow_model* model, oxbow_token token, unsigned flags,
                                         const char** bytes, size_t* size);

typedef enum oxbow_special {
  OXBOW_TOKEN_BEGIN = 0,
  OXBOW_TOKEN_END = 1,
  OXBOW_TOKEN_END_OF_TURN = 2,
  OXBOW_TOKEN_UNKNOWN = 3,
  OXBOW_TOKEN_PADDING = 4
} oxbow_special;

/* OXBOW_NO_TOKEN where the vocabulary has none. */
OXBOW_API oxbow_result oxbow_special_token(const oxbow_model* model, oxbow_special special,
                                           oxbow_token* token);
/* Whether generation should stop at the token: the end token, an end of turn and their like. */
OXBOW_API oxbow_result oxbow_is_end_of_generation(const oxbow_model* model, oxbow_token token, bool* ends);

/* ---- Engines: a model, its memory and its threads ---- */

typedef struct oxbow_engine oxbow_engine;

typedef enum oxbow_kv_type { OXBOW_KV_F16 = 0, OXBOW_KV_F32 = 1 } oxbow_kv_type;

typedef struct oxbow_engine_options {
  size_t struct_size;
  int32_t threads;        /* 0: all usable cores. Logits do not depend on it. */
  oxbow_kv_type key_type; /* how keys and values are stored */
  oxbow_kv_type value_type;
  size_t max_step_tokens; /* tokens of all sequences together in a step; 0: 512 */
  size_t max_outputs;     /* rows of logits that a step can give; 0: 1 */
  size_t
      budget_bytes; /* pages, states, logs, checkpoints and scratch; 0: a quarter of the available memory */
  size_t rewind_bytes; /* log that a sequence keeps to be rewound; 0: as much as two states */
} oxbow_engine_options;

/* options may be null. OXBOW_OUT_OF_BUDGET when the working buffers alone exceed the budget. */
OXBOW_API oxbow_result oxbow_engine_create(const oxbow_model* model, const oxbow_engine_options* options,
                                           oxbow_engine** engine);
/* Frees its sequences and checkpoints too. Null is fine. */
OXBOW_API oxbow_result oxbow_engine_free(oxbow_engine* engine);

/* What the options came to, and what the memory holds. Bytes that several hold count once. */
typedef struct oxbow_engine_info {
  size_t struct_size;
  int32_t threads;
  size_t max_step_tokens;
  size_t max_outputs;
  size_t
      reach_tokens; /* a sequence keeps the log of at most this many tokens, and can rewind half at least */
  size_t budget_bytes;
  size_t free_bytes;
  size_t scratch_bytes;
  size_t sequence_bytes;
  size_t checkpoint_bytes; /* gives way when sequences need it */
  size_t sequences;
  size_t checkpoints;
} oxbow_engine_info;

OXBOW_API oxbow_result oxbow_engine_describe(oxbow_engine* engine, oxbow_engine_info* info);
/* Drops the `count` kept checkpoints that are worth least; SIZE_MAX: all. */
OXBOW_API oxbow_result oxbow_engine_evict(oxbow_engine* engine, size_t count);

/* ---- Sequences: positions in a history of tokens, with all that is kept of it ---- */

/* Names a sequence within its engine; never 0, never given out twice. */
typedef uint32_t oxbow_sequence;

/* Why a prompt was not reused further than it was. */
typedef enum oxbow_reason {
  OXBOW_REASON_NONE = 0,          /* all but the last token was reused */
  OXBOW_REASON_COLD = 1,          /* nothing of it was known */
  OXBOW_REASON_DIVERGED = 2,      /* reused up to the token where it leaves what is known */
  OXBOW_REASON_NO_CHECKPOINT = 3, /* more was known, but no state was kept near enough */
  OXBOW_REASON_EVICTED = 4,       /* a nearer checkpoint had to make room */
  OXBOW_REASON_OVER_BUDGET = 5,   /* a nearer checkpoint never fitted */
  OXBOW_REASON_VERIFY_FAILED = 6  /* a nearer checkpoint did not pass verification */
} oxbow_reason;

/* A few words for a reason; static. */
OXBOW_API const char* oxbow_reason_name(oxbow_reason reason);

typedef struct oxbow_prompt {
  size_t struct_size;
  const oxbow_token* tokens;
  size_t token_count; /* at least one */
  /* Positions where checkpoints are worth keeping, such as the ends of messages; may be empty. */
  const size_t* boundaries;
  size_t boundary_count;
  /* Checkpoints are found again only under the same partition (nobody learns of another's prompts by timing).
   * Null is the empty partition. Not read by oxbow_sequence_reopen. */
  const char* partition;
} oxbow_prompt;

/* matched >= reused, except that the last token is matched but never reused: evaluate tokens[reused ...]. */
typedef struct oxbow_reuse {
  size_t struct_size;
  size_t matched;      /* leading tokens that were known */
  size_t reused;       /* leading tokens that the sequence now holds, at most token_count - 1 */
  size_t recompute;    /* token_count - reused */
  oxbow_reason reason; /* why not more */
} oxbow_reuse;

/* An empty sequence. Costs nothing until it runs. partition: see oxbow_prompt. */
OXBOW_API oxbow_result oxbow_sequence_create(oxbow_engine* engine, const char* partition,
                                             oxbow_sequence* sequence);
/* A sequence that holds as much of the prompt as is known and can be resumed. Checkpoints will be kept while
 * the rest is evaluated: at the boundaries, where the prompt leaves what is known, and before its last token.
 * reuse may be null. */
OXBOW_API oxbow_result oxbow_sequence_open(oxbow_engine* engine, const oxbow_prompt* prompt,
                                           oxbow_sequence* sequence, oxbow_reuse* reuse);
/* Brings a sequence to a prompt in the same way, cutting it in place where that reuses as much. */
OXBOW_API oxbow_result oxbow_sequence_reopen(oxbow_engine* engine, oxbow_sequence sequence,
                                             const oxbow_prompt* prompt, oxbow_reuse* reuse);
/* Keeps a checkpoint at the sequence's end as long as the budget allows: after an answer, for the next turn.
 */
OXBOW_API oxbow_result oxbow_sequence_keep(oxbow_engine* engine, oxbow_sequence sequence);
/* A new sequence with the first `position` tokens of another; neither sees what the other appends. It shares
 * pages and states, whatever the length. Where the state of `position` is out of reach, the fork holds fewer
 * tokens: *length says how many; evaluate the missing ones again for the same bits. length may be null. */
OXBOW_API oxbow_result oxbow_sequence_fork(oxbow_engine* engine, oxbow_sequence sequence, size_t position,
                                           oxbow_sequence* fork, size_t* length);
/* Cuts a sequence to its first `position` tokens, or to fewer as a fork does. length may be null. */
OXBOW_API oxbow_result oxbow_sequence_truncate(oxbow_engine* engine, oxbow_sequence sequence, size_t position,
                                               size_t* length);
/* Takes tokens [begin, end) out of a sequence. At its end that is a truncation. In the middle it is refused
 * for every model with the reason (OXBOW_UNSUPPORTED) and changes nothing: what follows was computed from
 * them. Reopen the sequence with the tokens that are left instead. length may be null. */
OXBOW_API oxbow_result oxbow_sequence_remove(oxbow_engine* engine, oxbow_sequence sequence, size_t begin,
                                             size_t end, size_t* length);
OXBOW_API oxbow_result oxbow_sequence_drop(oxbow_engine* engine, oxbow_sequence sequence);

/* Tokens held. */
OXBOW_API oxbow_result oxbow_sequence_length(oxbow_engine* engine, oxbow_sequence sequence, size_t* length);
/* The positions that truncate and fork reach without evaluating anything: *first to *last, both included;
 * *last is the length. Position 0 can always be reached. */
OXBOW_API oxbow_result oxbow_sequence_reach(oxbow_engine* engine, oxbow_sequence sequence, size_t* first,
                                            size_t* last);
OXBOW_API oxbow_result oxbow_sequence_tokens(oxbow_engine* engine, oxbow_sequence sequence,
                                             oxbow_token* tokens, size_t capacity, size_t* count);

/* ---- Saved sequences ---- */

/* Writes a sequence, the checkpoints on its way and `text` (the caller's own: any bytes, may be empty) to a
 * file of mode 0600, which is replaced as a whole or not at all. */
OXBOW_API oxbow_result oxbow_sequence_save(oxbow_engine* engine, oxbow_sequence sequence, const char* path,
                                           const char* text, size_t text_bytes);

/* What a file gave. Pointers are the engine's and live until its next restore, at most as long as it. */
typedef struct oxbow_restored {
  size_t struct_size;
  oxbow_sequence sequence;   /* a new one, with the first `restored` tokens */
  size_t restored;           /* evaluate tokens[restored ... token_count - 1] to go on with the same bits */
  const oxbow_token* tokens; /* all that were saved; none when they are of another vocabulary */
  size_t token_count;
  const char* text;
  size_t text_bytes;
  const char* recompute_reason; /* why not all was restored, such as another model or settings; else empty */
} oxbow_restored;

/* Makes a sequence from a file, under any number of others. A damaged file is refused with a reason and
 * changes nothing. Checkpoints of the file are kept as room allows, for prompts of `partition` (see
 * oxbow_prompt). */
OXBOW_API oxbow_result oxbow_sequence_restore(oxbow_engine* engine, const char* path, const char* partition,
                                              oxbow_restored* restored);

/* ---- Steps ---- */

typedef enum oxbow_outputs {
  OXBOW_LOGITS_NONE = 0,
  OXBOW_LOGITS_LAST = 1,
  OXBOW_LOGITS_ALL = 2
} oxbow_outputs;

/* New tokens of one sequence, at least one. A sequence may stand in a step once. */
typedef struct oxbow_step_entry {
  oxbow_sequence sequence;
  const oxbow_token* tokens;
  size_t token_count;
  oxbow_outputs outputs; /* of which tokens the logits are wanted */
} oxbow_step_entry;

/* Evaluates the entries together; afterwards each sequence holds its new tokens. *logits: the wanted rows,
 * [*rows, vocabulary], in the order of entries and tokens; they live until the engine's next step and as long
 * as the engine. The bits of a row depend on the model and the tokens before it alone, not on how they were
 * cut into steps. logits and rows may be null. */
OXBOW_API oxbow_result oxbow_step(oxbow_engine* engine, const oxbow_step_entry* entries, size_t entry_count,
                                  const float** logits, size_t* rows);
/* Appends any number of tokens, in as many steps as they need. *logits: the row after the last token, as
 * above. On an error the sequence holds the tokens of the steps that were done: see oxbow_sequence_length. */
OXBOW_API oxbow_result oxbow_evaluate(oxbow_engine* engine, oxbow_sequence sequence,
                                      const oxbow_token* tokens, size_t token_count, const float** logits);

/* ---- Sampling ---- */

typedef struct oxbow_sampler oxbow_sampler;

/* Begin with oxbow_sampler_defaults: here 0 is a value of its own. */
typedef struct oxbow_sampler_settings {
  size_t struct_size;
  float temperature;    /* 0: always the most likely token */
  size_t top_k;         /* keep the k most likely; 0: all */
  float top_p;          /* keep the smallest set with this share of the probability */
  float min_p;          /* keep tokens with at least this share of the best one's probability */
  float repeat_penalty; /* divides positive, multiplies negative logits of recent tokens; 1: nothing */
  size_t repeat_last_n; /* how many tokens count as recent */
  uint64_t seed;
} oxbow_sampler_settings;

/* The usual values, with those that the model's file recommends when a model is given; it may be null. Needs
 * struct_size. */
OXBOW_API oxbow_result oxbow_sampler_defaults(const oxbow_model* model, oxbow_sampler_settings* settings);
/* settings may be null: the defaults without a model. */
OXBOW_API oxbow_result oxbow_sampler_create(const oxbow_sampler_settings* settings, oxbow_sampler** sampler);
/* Null is fine. */
OXBOW_API oxbow_result oxbow_sampler_free(oxbow_sampler* sampler);
/* Chooses a token from a row of logits. recent: the tokens so far, newest last; may be empty. The same seed,
 * logits and calls give the same tokens on every machine. */
OXBOW_API oxbow_result oxbow_sampler_sample(oxbow_sampler* sampler, const float* logits, size_t logit_count,
                                            const oxbow_token* recent, size_t recent_count,
                                            oxbow_token* token);

#ifdef __cplusplus
}
#endif

#endif
