#pragma once

namespace ringrun {

// The largest power of two of ranks are *vertices* of a hypercube. Of the others each gives its terms to the place above
// it, and gets the result from there: places 0, 2, 4 … below twice their number.
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
