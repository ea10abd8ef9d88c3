/** A registered hook (torch.utils.hooks.RemovableHandle). */
export interface RemovableHandle {
  /** Removes the hook. Further calls do nothing. */
  remove(): void;
}
