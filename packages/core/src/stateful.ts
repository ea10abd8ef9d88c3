/**
 * An object that a checkpoint can contain (torch.distributed.checkpoint.stateful.Stateful): a model, an optimizer, a
 * scheduler, a loader, or an object of the program.
 */
export interface Stateful {
  /**
   * Returns plain values, typed arrays, and tensors `{ shape, data }`, in arrays, objects, Maps and Sets; or a promise
   * of these.
   */
  stateDict(): unknown;
  /** Restores a state returned by `stateDict`, or throws and leaves the object unchanged. */
  loadStateDict(state: never): unknown;
}
