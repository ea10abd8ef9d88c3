/**
 * An object that must change when its group is destroyed.
 *
 * @internal
 */
export interface LeavesGroup {
  leaveGroup(): void;
}

/** The objects that must change when a group is destroyed. Does not keep them. */
export class DestroyListeners {
  readonly #listeners = new Set<WeakRef<LeavesGroup>>();
  readonly #collected = new FinalizationRegistry<WeakRef<LeavesGroup>>((reference) => {
    this.#listeners.delete(reference);
  });

  add(one: LeavesGroup): void {
    const reference = new WeakRef(one);
    this.#listeners.add(reference);
    this.#collected.register(one, reference);
  }

  notify(): void {
    for (const one of this.#listeners) one.deref()?.leaveGroup();
    this.#listeners.clear();
  }
}
