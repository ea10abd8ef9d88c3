/** Signals that end a job, as torchrun has them. */
const endingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const satisfies readonly NodeJS.Signals[];

/** Calls `listener` for every signal that asks the launcher to end, until `until` is aborted; then they end it at once again. */
export function onEndingSignal(listener: (signal: NodeJS.Signals) => void, until: AbortSignal): void {
  for (const signal of endingSignals) {
    const listen = (): void => {
      listener(signal);
    };
    process.on(signal, listen);
    until.addEventListener('abort', () => process.off(signal, listen), { once: true });
  }
}
