import { hangupIsIgnored, readHangupEvidence } from './ignored-hangup.ts';
import { exitCodeOf } from './signal-words.ts';

/** Signals of one key press may come so far apart: from the terminal, and from an npm that passes it on. */
const sameKeyPressMs = 500;

/**
 * The signals that ask the launcher to end. They are heard for as long as the launcher lives: by whoever runs workers, and when nobody does they end the
 * launcher at once; but not just after the workers have ended, when it is about to say how.
 *
 * SIGHUP does nothing under `nohup`.
 */
export class EndingSignals {
  #listener: ((signal: NodeJS.Signals) => void) | undefined;
  #unheardSince = -Infinity;

  constructor(signals: readonly NodeJS.Signals[]) {
    const ignored = hangupIsIgnored(readHangupEvidence()) ? 'SIGHUP' : undefined;
    for (const signal of signals) {
      process.on(signal, () => {
        // A listener that does nothing: without one, the signal would end the launcher.
        if (signal === ignored) return;
        if (this.#listener) this.#listener(signal);
        else if (performance.now() - this.#unheardSince >= sameKeyPressMs) process.exit(exitCodeOf(signal));
      });
    }
  }

  /** Calls `listener` for each signal until `until` is aborted. There is one listener at a time. */
  listen(listener: (signal: NodeJS.Signals) => void, until: AbortSignal): void {
    this.#listener = listener;
    const leave = (): void => {
      this.#listener = undefined;
      this.#unheardSince = performance.now();
    };
    until.addEventListener('abort', leave, { once: true });
  }
}
