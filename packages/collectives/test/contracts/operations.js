// A call of every kind of operation; the values of the arrays are not checked.

/** Each begins its operation on this rank; ranks that call it alike agree. `part`: elements for one rank; `input`, `output`: for each. */
const operations = {
  allReduce: ({ group, part }) => group.allReduce(part),
  allReduceCoalesced: ({ group, part, other }) => group.allReduceCoalesced([part, other]),
  reduce: ({ group, part }) => group.reduce(part),
  reduceScatter: ({ group, part, input }) => group.reduceScatter(part, input),
  broadcast: ({ group, part }) => group.broadcast(part),
  allGather: ({ group, part, output }) => group.allGather(output, part),
  gather: ({ group, part, output }) => group.gather(part, group.rank === 0 ? { output } : {}),
  scatter: ({ group, part, input }) => group.scatter(part, group.rank === 0 ? { input } : {}),
  allToAll: ({ group, input, output }) => group.allToAll(output, input),
  message: async ({ group, part, other }) => {
    const { rank, size } = group;
    const sending = group.isend(part, (rank + 1) % size);
    await group.recv(other, { src: (rank + size - 1) % size });
    await sending.wait();
  },
  barrier: ({ group }) => group.barrier(),
  monitoredBarrier: ({ group }) => group.monitoredBarrier(),
  broadcastObject: ({ group, object }) => group.broadcastObject(object),
  allGatherObject: ({ group, object }) => group.allGatherObject(object),
  gatherObject: ({ group, object }) => group.gatherObject(object),
  scatterObject: ({ group, object }) => group.scatterObject(Array.from({ length: group.size }, () => object)),
};

export const operationNames = Object.keys(operations);

/** A function that begins the operation, as often as it is called, on arrays of its own of `length` elements for each rank. */
export function operationOn(group, name, length) {
  const [part, other] = [new Float32Array(length), new Float32Array(length)];
  const [input, output] = [new Float32Array(group.size * length), new Float32Array(group.size * length)];
  const object = { rank: group.rank, text: 'x'.repeat(length) };
  return () => operations[name]({ group, part, other, input, output, object });
}
