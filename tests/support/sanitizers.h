#pragma once
// Whether a sanitizer is built in, whose own memory stands beside what is tested: OXBOW_HAS_SHADOW_MEMORY.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OXBOW_HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OXBOW_HAS_SHADOW_MEMORY 1
#endif
#endif
