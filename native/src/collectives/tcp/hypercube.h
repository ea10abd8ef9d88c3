#pragma once

namespace ringrun {

// A hypercube with the largest power of two of ranks as *vertices*. The others are *surplus*: places 0, 2, 4 …
// below twice their number. Each sends its terms to the place above it, and receives the result from there.
class Hypercube {
 public:
  explicit Hypercube(int size) {
    while (2 * vertices_ <= size) vertices_ *= 2;
    surplus_ = size - vertices_;
  }

  int vertices() const { return vertices_; }
  bool isSurplus(int place) const { return place < 2 * surplus_ && place % 2 == 0; }
  bool standsForTwo(int place) const { return place < 2 * surplus_ && place % 2 == 1; }
  int vertexOf(int place) const { return place < 2 * surplus_ ? place / 2 : place - surplus_; }
  int placeOf(int vertex) const { return vertex < surplus_ ? 2 * vertex + 1 : vertex + surplus_; }

 private:
  int vertices_ = 1;
  int surplus_ = 0;
};

}  // namespace ringrun
