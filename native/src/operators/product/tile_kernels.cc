#include <cstring>

#include "base/processor.h"
#include "operators/product/vector_kernels.h"
#include "operators/vectors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ringrun {
namespace {

// A tile has 16 rows of 64 bytes: sums are 16×16 float32 numbers; of the left operand, 16 rows of 32 numbers; of a panel, 16
// pairs of rows. Registers of both kinds have numbers from 0 to 7.
constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileBytes = 64;
constexpr std::size_t kTileInner = kTileBytes / sizeof(std::uint16_t);

#if defined(__x86_64__)

// AMX. Written as instructions: the intrinsics of g++ take tile numbers as macros, which templates cannot give them.
class AmxTiles {
 public:
  AmxTiles() {
    struct alignas(64) {
      std::uint8_t palette = 1;
      std::uint8_t startRow = 0;
      std::uint8_t reserved[14] = {};
      std::uint16_t bytesOfRow[16] = {kTileBytes, kTileBytes, kTileBytes, kTileBytes, kTileBytes, kTileBytes, kTileBytes, kTileBytes};
      std::uint8_t rows[16] = {kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows};
    } configuration;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() { asm volatile("tilerelease"); }

  template <int Tile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
  }
  template <int Tile>
  void load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(Tile) : "memory");
  }
  template <int Tile>
  void store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(Tile) : "memory");
  }
  template <int Sums, int Left, int Right>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Left), "i"(Right));
  }
};

#endif

class PlainTiles {
 public:
  template <int Tile>
  void zero() {
    std::memset(tiles_[Tile], 0, sizeof tiles_[Tile]);
  }
  template <int Tile>
  void load(const void* from, std::size_t stride) {
    for (std::size_t row = 0; row < kTileRows; ++row) std::memcpy(tiles_[Tile][row], static_cast<const char*>(from) + row * stride, kTileBytes);
  }
  template <int Tile>
  void store(void* to, std::size_t stride) {
    for (std::size_t row = 0; row < kTileRows; ++row) std::memcpy(static_cast<char*>(to) + row * stride, tiles_[Tile][row], kTileBytes);
  }
  template <int Sums, int Left, int Right>
  void multiply() {
    for (std::size_t row = 0; row < kTileRows; ++row) {
      for (std::size_t pair = 0; pair < kTileInner / 2; ++pair) {
        for (std::size_t column = 0; column < kTileRows; ++column) {
          float sum = number<float>(Sums, row, column);
          for (std::size_t half = 0; half < 2; ++half) {
            sum += BFloat16::widened(number<std::uint16_t>(Left, row, 2 * pair + half)) *
                   BFloat16::widened(number<std::uint16_t>(Right, pair, 2 * column + half));
          }
          std::memcpy(tiles_[Sums][row] + column * sizeof sum, &sum, sizeof sum);
        }
      }
    }
  }

 private:
  template <typename T>
  T number(int tile, std::size_t row, std::size_t column) const {
    T value;
    std::memcpy(&value, tiles_[tile][row] + column * sizeof value, sizeof value);
    return value;
  }

  unsigned char tiles_[8][kTileRows][kTileBytes];
};

// 16 rows of the left operand, at equal distances. The numbers after the last whole block of 32 are copied, with zeros behind
// them; fewer rows, or rows at other distances, are copied too.
class LeftTiles {
 public:
  void set(const HalfPanelProduct& p, std::size_t row) {
    const std::size_t count = std::min(kTileRows, p.rows - row);
    const std::size_t whole = p.inner / kTileInner * kTileInner;
    const std::uint16_t* const* const from = p.from + row;
    std::memset(rest_, 0, sizeof rest_);
    for (std::size_t r = 0; r < count; ++r) std::memcpy(rest_[r], from[r] + whole, (p.inner - whole) * sizeof(std::uint16_t));
    if (count == kTileRows && areEquidistant(from)) {
      data_ = from[0];
      stride_ = static_cast<std::size_t>(from[1] - from[0]);
      return;
    }
    copies_.resize(kTileRows * whole / 2);
    auto* const to = reinterpret_cast<std::uint16_t*>(copies_.data());
    for (std::size_t r = 0; r < kTileRows; ++r) {
      if (r < count) std::memcpy(to + r * whole, from[r], whole * sizeof(std::uint16_t));
      else std::memset(to + r * whole, 0, whole * sizeof(std::uint16_t));
    }
    data_ = to;
    stride_ = whole;
  }

  template <int Tile, typename Tiles>
  void load(Tiles& tiles, std::size_t k) const {
    tiles.template load<Tile>(data_ + k, stride_ * sizeof(std::uint16_t));
  }
  template <int Tile, typename Tiles>
  void loadRest(Tiles& tiles) const {
    tiles.template load<Tile>(rest_, kTileBytes);
  }

 private:
  static bool areEquidistant(const std::uint16_t* const* from) {
    for (std::size_t r = 2; r < kTileRows; ++r) {
      if (from[r] - from[r - 1] != from[1] - from[0]) return false;
    }
    return from[1] > from[0];
  }

  const std::uint16_t* data_ = nullptr;
  std::size_t stride_ = 0;
  AlignedFloats copies_;
  alignas(64) std::uint16_t rest_[kTileRows][kTileInner];
};

// The rows of a panel after the last whole block of 32, with zeros behind them.
class PanelRest {
 public:
  void set(const std::uint16_t* panel, std::size_t inner) {
    const std::size_t whole = inner / kTileInner * kTileInner;
    std::memset(rows_, 0, sizeof rows_);
    std::memcpy(rows_, panel + whole * kLanes, (inner - whole) * kLanes * sizeof(std::uint16_t));
  }
  const void* data() const { return rows_; }

 private:
  alignas(64) std::uint16_t rows_[kTileInner / 2][kTileInner];
};

// `Rows` times 16 rows and `Panels` panels. Tiles 0 to 3 are sums, 4 and 5 the left operand, 6 and 7 the panels.
template <int Rows, int Panels, typename Tiles>
void multiplyBlock(Tiles& tiles, const HalfPanelProduct& p, const LeftTiles* left, const PanelRest* rests, std::size_t row, std::size_t panel) {
  alignas(64) float sums[2][2][kTileRows][kLanes];
  const std::size_t rows = std::min(Rows * kTileRows, p.rows - row);
  const auto forEachRow = [&](const auto& body) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t q = 0; q < Panels; ++q) body(row + r, (panel + q) * kLanes, sums[r / kTileRows][q][r % kTileRows]);
    }
  };
  const auto ofEachTile = [&](const auto& body) {
    body(std::integral_constant<int, 0>{}, &sums[0][0]);
    if constexpr (Panels == 2) body(std::integral_constant<int, 1>{}, &sums[0][1]);
    if constexpr (Rows == 2) body(std::integral_constant<int, 2>{}, &sums[1][0]);
    if constexpr (Rows == 2 && Panels == 2) body(std::integral_constant<int, 3>{}, &sums[1][1]);
  };
  if (p.start == nullptr) {
    ofEachTile([&](auto tile, void*) { tiles.template zero<tile()>(); });
  } else {
    std::memset(sums, 0, sizeof sums);
    forEachRow([&](std::size_t r, std::size_t column, float* own) { std::memcpy(own, p.start[r] + column, kTileBytes); });
    ofEachTile([&](auto tile, void* own) { tiles.template load<tile()>(own, kTileBytes); });
  }
  const auto multiplyAll = [&] {
    tiles.template multiply<0, 4, 6>();
    if constexpr (Panels == 2) tiles.template multiply<1, 4, 7>();
    if constexpr (Rows == 2) tiles.template multiply<2, 5, 6>();
    if constexpr (Rows == 2 && Panels == 2) tiles.template multiply<3, 5, 7>();
  };
  const std::size_t whole = p.inner / kTileInner * kTileInner;
  for (std::size_t k = 0; k < whole; k += kTileInner) {
    left[0].template load<4>(tiles, k);
    tiles.template load<6>(p.panels[panel] + k * kLanes, kTileBytes);
    if constexpr (Rows == 2) left[1].template load<5>(tiles, k);
    if constexpr (Panels == 2) tiles.template load<7>(p.panels[panel + 1] + k * kLanes, kTileBytes);
    multiplyAll();
  }
  if (whole < p.inner) {
    left[0].template loadRest<4>(tiles);
    tiles.template load<6>(rests[panel].data(), kTileBytes);
    if constexpr (Rows == 2) left[1].template loadRest<5>(tiles);
    if constexpr (Panels == 2) tiles.template load<7>(rests[panel + 1].data(), kTileBytes);
    multiplyAll();
  }
  ofEachTile([&](auto tile, void* own) { tiles.template store<tile()>(own, kTileBytes); });
  forEachRow([&](std::size_t r, std::size_t column, const float* own) { std::memcpy(p.to[r] + column, own, kTileBytes); });
}

template <typename Tiles>
void multiplyTiles(const HalfPanelProduct& p) {
  thread_local LeftTiles left[2];
  thread_local std::vector<PanelRest> rests;
  if (p.inner % kTileInner != 0) {
    rests.resize(std::max(rests.size(), p.count));
    for (std::size_t panel = 0; panel < p.count; ++panel) rests[panel].set(p.panels[panel], p.inner);
  }
  Tiles tiles;
  for (std::size_t row = 0; row < p.rows; row += 2 * kTileRows) {
    const bool hasTwo = row + kTileRows < p.rows;
    left[0].set(p, row);
    if (hasTwo) left[1].set(p, row + kTileRows);
    for (std::size_t panel = 0; panel < p.count; panel += 2) {
      const bool hasPair = panel + 1 < p.count;
      if (hasTwo && hasPair) multiplyBlock<2, 2>(tiles, p, left, rests.data(), row, panel);
      else if (hasTwo) multiplyBlock<2, 1>(tiles, p, left, rests.data(), row, panel);
      else if (hasPair) multiplyBlock<1, 2>(tiles, p, left, rests.data(), row, panel);
      else multiplyBlock<1, 1>(tiles, p, left, rests.data(), row, panel);
    }
  }
}

}  // namespace

void multiplyAmxTwin(const HalfPanelProduct& product) { multiplyTiles<PlainTiles>(product); }

#if defined(__x86_64__)

bool hasAmx() {
  static const bool isHere = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kTilesAndBFloat16 = 1u << 24 | 1u << 22;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kTilesAndBFloat16) != kTilesAndBFloat16) return false;
    constexpr std::uint64_t kTileRegisters = 0x60000;
    return systemKeeps(kTileRegisters) && requestTiles();
  }();
  return isHere;
}

void multiplyAmx(const HalfPanelProduct& product) { multiplyTiles<AmxTiles>(product); }

#endif

}  // namespace ringrun
