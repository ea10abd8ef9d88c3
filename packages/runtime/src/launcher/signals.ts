/** Calls `listener` for each of the signals that asks the launcher to end, until `until` is aborted; then they end it at once again. */
export function onEndingSignal(
  signals: readonly NodeJS.Signals[],
  listener: (signal: NodeJS.Signals) => void,
  until: AbortSignal,
): void {
  for (const signal of signals) {
    const listen = (): void => {
      listener(signal);
    };
    process.on(signal, listen);
    until.addEventListener('abort', () => process.off(signal, listen), { once: true });
  }
}
