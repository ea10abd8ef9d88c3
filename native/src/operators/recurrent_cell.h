#pragma once

#include <cstddef>

// One step of one row of a recurrent network, forward and backward. With x the input's contribution to the gates
// (biases included) and p the product of the previous state with the recurrent weights:
//
//   tanh, relu  h = act(x + p)
//   lstm        i, f, g, o = σ, σ, tanh, σ of x + p;  c = f·c₋₁ + i·g;  h = o·tanh(c)
//   gru         r, z = σ of x + p;  n = tanh(x + r·p);  h = (1 − z)·n + z·h₋₁
//
// (torch.nn.RNN, LSTM and GRU; Hochreiter and Schmidhuber, 1997; Cho and others, 2014). Gates are stored in torch's
// order, `size` elements each.

namespace ringrun {

enum class Cell { Tanh, Relu, Lstm, Gru };

// Gates of a cell: the input and the product have gatesOf(cell)·size elements.
constexpr std::size_t gatesOf(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// Arrays have `size` elements, except where noted.
struct CellForward {
  std::size_t size;
  const float* gates;          // x, of all gates
  const float* product;        // p, of all gates
  const float* previousState;  // h₋₁
  const float* previousCell;   // c₋₁, of lstm
  float* state;                // h
  float* cell;                 // c, of lstm; may be previousCell
  float* activations;          // gates after their functions, of lstm and gru; null: not needed. May be `gates`.
  float* candidate;            // p of the last gate, of gru; null: not needed
};

struct CellBackward {
  std::size_t size;
  const float* state;          // h
  const float* previousState;  // h₋₁
  const float* previousCell;   // c₋₁, of lstm
  const float* cell;           // c, of lstm
  const float* activations;    // of lstm and gru
  const float* candidate;      // of gru
  const float* dOutput;        // gradient of h from outside the recurrence; null: 0
  float* dState;               // gradient of h from the next step. For gru, becomes the part of h₋₁'s gradient that involves no weight.
  float* dCell;                // of lstm: gradient of c from the next step; becomes that of c₋₁
  float* dGates;               // gradient of x, of all gates; may be `activations`
  float* dProduct;             // gradient of p, of all gates; null: not requested, or equal to dGates (all but gru)
};

void stepForward(Cell cell, const CellForward& step);
void stepBackward(Cell cell, const CellBackward& step);

}  // namespace ringrun
