#pragma once

#include <type_traits>

#include "base/dynamic_library.h"

// Compares the declarations of the addon with those of NVIDIA's headers.

namespace ringrun {

// Parameters are passed alike: values of one size, and pointers or not. The names of the types differ.
template <typename Ours, typename Theirs>
constexpr bool isPassedAlike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct Signatures : std::false_type {};

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct Signatures<Function<OurResult(Ours...)>, TheirResult(Theirs...)> {
  static constexpr bool areAlike() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return isPassedAlike<OurResult, TheirResult>() && (isPassedAlike<Ours, Theirs>() && ...);
    }
  }
};

}  // namespace ringrun

#define SAME_SIGNATURE_IN(Library, ours, theirs) \
  static_assert(ringrun::Signatures<decltype(ringrun::Library::ours), decltype(::theirs)>::areAlike(), #theirs)
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
