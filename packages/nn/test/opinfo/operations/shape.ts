import { cat, full, meshgrid, stack, type Index, type Tensor } from '../../../src/index.ts';
import { NoCounterpart, type Given } from '../given.ts';
import { Slice } from '../sample.ts';
import { listOp, op, type Operation } from '../operation.ts';

const shaped = (name: 'view' | 'reshape'): Operation =>
  op('shape', (x, given) => x[name](...given.numbers('shape')!));

/** The index of x[index], one part of it. */
function indexOf(part: unknown): Index {
  if (part instanceof Slice) return part.bounds.length === 0 ? [] : part.bounds;
  if (part === undefined) return null;
  if (Array.isArray(part) || typeof part === 'boolean' || part === true)
    throw new NoCounterpart('a list, or true or false, as an index');
  return part as Index;
}

function indexed(x: Tensor, given: Given): Tensor {
  const index = given.any('index');
  const parts = (Array.isArray(index) ? index : [index]).map(indexOf);
  for (const part of parts) {
    if (typeof part !== 'object' || part === null || !('dtype' in part)) continue;
    if (part.dtype === 'bool')
      throw new NoCounterpart('a mask as an index: shapes are known before elements');
    if (parts.length > 1 || part.shape.length !== 1)
      throw new NoCounterpart('several tensors, or one of several dimensions, as an index');
  }
  return x.at(...parts);
}

/** torch's `dim` is optional: without it, all dimensions are flattened first. */
function rolled(x: Tensor, given: Given): Tensor {
  const shifts = given.numbers('shifts')!;
  const dims = given.numbers('dims') ?? [];
  if (dims.length === 0)
    return x
      .ravel()
      .roll(shifts[0], 0)
      .view(...x.shape);
  return shifts.reduce((value, shift, place) => value.roll(shift, dims[place]), x);
}

/** Reshaping, reordering and selecting. */
export const shapes: Readonly<Record<string, Operation>> = {
  view: shaped('view'),
  reshape: shaped('reshape'),
  view_as: op('other', (x, given) => x.viewAs(given.tensor('other'))),
  reshape_as: op('other', (x, given) => x.reshapeAs(given.tensor('other'))),
  ravel: op('', (x) => x.ravel()),
  flatten: op('start_dim end_dim', (x, given) =>
    x.flatten(given.number('start_dim'), given.number('end_dim')),
  ),
  unflatten: op('dim sizes', (x, given) => x.unflatten(given.number('dim')!, given.numbers('sizes')!)),
  squeeze: op('dim', (x, given) => {
    const dims = given.any('dim');
    if (Array.isArray(dims)) throw new NoCounterpart('a list of dimensions');
    return x.squeeze(given.number('dim'));
  }),
  unsqueeze: op('dim', (x, given) => x.unsqueeze(given.number('dim')!)),
  permute: op('dims', (x, given) => x.permute(...given.numbers('dims')!)),
  transpose: op('dim0 dim1', (x, given) => x.transpose(given.number('dim0')!, given.number('dim1')!)),
  t: op('', (x) => x.t()),
  mT: op('', (x) => x.mT),
  movedim: op('source destination', (x, given) => {
    const [source, destination] = [given.numbers('source')!, given.numbers('destination')!];
    if (source.length !== 1 || destination.length !== 1) throw new NoCounterpart('lists of dimensions');
    return x.movedim(source[0], destination[0]);
  }),
  expand: op('sizes', (x, given) => x.expand(...given.numbers('sizes')!)),
  expand_as: op('other', (x, given) => x.expandAs(given.tensor('other'))),
  broadcast_to: op('size', (x, given) => x.expand(...given.numbers('size')!)),
  repeat: op('repeats', (x, given) => x.repeat(...given.numbers('repeats')!)),
  tile: op('dims', (x, given) => x.tile(...given.numbers('dims')!)),
  repeat_interleave: op('repeats dim', (x, given) => {
    given.ignore('output_size');
    return x.repeatInterleave(given.number('repeats')!, given.number('dim'));
  }),
  unfold: op('dimension size step', (x, given) =>
    x.unfold(given.number('dimension')!, given.number('size')!, given.number('step')!),
  ),
  tril: op('diagonal', (x, given) => x.tril(given.number('diagonal'))),
  triu: op('diagonal', (x, given) => x.triu(given.number('diagonal'))),
  diagonal: op('offset dim1 dim2', (x, given) =>
    x.diagonal(given.number('offset'), given.number('dim1'), given.number('dim2')),
  ),
  diag: op('diagonal', (x, given) => x.diag(given.number('diagonal'))),
  flip: op('dims', (x, given) => x.flip(...given.numbers('dims')!)),
  roll: op('shifts dims', rolled),
  narrow: op('dim start length', (x, given) =>
    x.narrow(given.number('dim')!, given.number('start')!, given.number('length')!),
  ),
  select: op('dim index', (x, given) => x.select(given.number('dim')!, given.number('index')!)),
  slice: op('dim start end step', (x, given) =>
    x.slice(given.number('dim') ?? 0, given.number('start'), given.number('end'), given.number('step')),
  ),
  split: op('split_size dim', (x, given) => x.split(given.sizes('split_size')!, given.number('dim'))),
  split_with_sizes: op('split_sizes dim', (x, given) =>
    x.split(given.numbers('split_sizes')!, given.number('dim')),
  ),
  chunk: op('chunks dim', (x, given) => x.chunk(given.number('chunks')!, given.number('dim'))),
  unbind: op('dim', (x, given) => x.unbind(given.number('dim'))),
  __getitem__: op('index', indexed),
  index_select: op('dim index', (x, given) => x.indexSelect(given.number('dim')!, given.tensor('index'))),
  gather: op('dim index', (x, given) => {
    given.ignore('sparse_grad');
    return x.gather(given.number('dim')!, given.tensor('index'));
  }),
  take: op('index', (x, given) => x.take(given.tensor('index'))),
  scatter: op('dim index src', (x, given) => {
    const source = given.has('value') ? given.operand('value', x) : given.operand('src', x);
    return x.scatter(given.number('dim')!, given.tensor('index'), source);
  }),
  scatter_add: op('dim index src', (x, given) =>
    x.scatterAdd(given.number('dim')!, given.tensor('index'), given.tensor('src')),
  ),
  cat: listOp('dim', (tensors, given) => cat(tensors, given.number('dim'))),
  stack: listOp('dim', (tensors, given) => stack(tensors, given.number('dim'))),
  meshgrid: {
    takesOther: true,
    names: [...Array(8).keys()].map(String),
    call: (x, given) => {
      if (given.string('indexing') === 'xy') throw new NoCounterpart("`indexing='xy'`");
      const others = [...Array(8).keys()].map(String).filter((name) => given.has(name));
      const all = Array.isArray(x) ? (x as Tensor[]) : [x, ...others.map((name) => given.tensor(name))];
      return meshgrid(...all);
    },
  },
  zeros_like: likeness(0),
  ones_like: likeness(1),
};

function likeness(value: number): Operation {
  return op('', (x, given) => {
    given.ignore('device', 'layout', 'memory_format', 'requires_grad', 'pin_memory');
    return full(x.shape, value, { dtype: given.dtype('dtype') ?? x.dtype });
  });
}
