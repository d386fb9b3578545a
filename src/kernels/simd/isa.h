#pragma once
// What every header that is compiled once per instruction set is wrapped in.
//
// A unit (isa/NAME.cpp) defines OXBOW_ISA as the name of its set before it includes anything; without one,
// portable is meant. All that the unit defines lies in oxbow::kernels::NAME with internal linkage, so that no
// function built with the unit's flags can stand in for one that runs elsewhere (tools/check_isa_leaks.sh
// looks). For the same reason the bodies call nothing from the standard library and no inline function of a
// shared header.

#ifndef OXBOW_ISA
#define OXBOW_ISA portable
#define OXBOW_ISA_PORTABLE 1
#endif

#define OXBOW_ISA_BEGIN                 \
  namespace oxbow::kernels::OXBOW_ISA { \
  namespace {
#define OXBOW_ISA_END \
  }                   \
  }

#define OXBOW_INLINE [[gnu::always_inline, maybe_unused]] inline
