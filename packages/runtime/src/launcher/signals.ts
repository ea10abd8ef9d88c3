import { hangupIsIgnored, readHangupEvidence } from './ignored-hangup.ts';
import { exitCodeOf } from './signal-words.ts';

/** Milliseconds. One Ctrl-C may arrive twice within this time: from the terminal, and forwarded by npm. */
const sameKeyPressMs = 500;

/**
 * The signals that end the launcher. With a listener, the listener handles them. Without one, they end the launcher at
 * once, except just after the workers have ended, when the launcher is about to print its report.
 *
 * SIGHUP is ignored under `nohup`.
 */
export class EndingSignals {
  #listener: ((signal: NodeJS.Signals) => void) | undefined;
  #unheardSince = -Infinity;

  constructor(signals: readonly NodeJS.Signals[]) {
    const ignored = hangupIsIgnored(readHangupEvidence()) ? 'SIGHUP' : undefined;
    for (const signal of signals) {
      process.on(signal, () => {
        // Without this handler, SIGHUP would end the launcher.
        if (signal === ignored) return;
        if (this.#listener) this.#listener(signal);
        else if (performance.now() - this.#unheardSince >= sameKeyPressMs) process.exit(exitCodeOf(signal));
      });
    }
  }

  /** Calls `listener` for each signal until `until` is aborted. Only one listener at a time. */
  listen(listener: (signal: NodeJS.Signals) => void, until: AbortSignal): void {
    this.#listener = listener;
    const leave = (): void => {
      this.#listener = undefined;
      this.#unheardSince = performance.now();
    };
    until.addEventListener('abort', leave, { once: true });
  }
}
