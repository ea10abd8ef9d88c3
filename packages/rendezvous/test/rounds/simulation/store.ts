import type { Agenda } from './agenda.ts';
import type { Random } from './random.ts';

export type StoreCall =
  | { readonly op: 'read' }
  | { readonly op: 'compareSet'; readonly expected: string; readonly desired: string }
  | { readonly op: 'renew'; readonly id: string };

/** The value after the call, and the run of the store that answered. */
export interface StoreAnswer {
  readonly instance: number;
  readonly value: string;
}

/** Quality of the network. */
export interface Weather {
  /** Fraction of messages lost, in each direction. */
  loss: number;
  /** Fraction of calls that arrive twice. */
  duplication: number;
  /** Milliseconds of most messages; 5% take up to 40 times as long. */
  delayMs: number;
}

/** A simulated store on an unreliable network. A restart loses all its data. */
export class SimulatedStore {
  isUp = true;
  instance = 1;
  value = '';
  readonly counters = new Map<string, number>();
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #weather: Weather;

  constructor(agenda: Agenda, random: Random, weather: Weather) {
    this.#agenda = agenda;
    this.#random = random;
    this.#weather = weather;
  }

  lose(): void {
    this.isUp = false;
    this.value = '';
    this.counters.clear();
  }

  restart(): void {
    this.isUp = true;
    this.instance += 1;
  }

  /** `isCutOff` is called for each message. */
  call(call: StoreCall, isCutOff: () => boolean, onAnswer: (answer: StoreAnswer) => void): void {
    const arrive = () => {
      if (!this.isUp || isCutOff()) return;
      const answer = { instance: this.instance, value: this.#carryOut(call) };
      if (this.#random.chance(this.#weather.loss)) return;
      this.#agenda.after(this.#delay(), () => {
        if (!isCutOff()) onAnswer(answer);
      });
    };
    if (this.#random.chance(this.#weather.loss)) return;
    this.#agenda.after(this.#delay(), arrive);
    if (this.#random.chance(this.#weather.duplication)) this.#agenda.after(this.#delay() * 3, arrive);
  }

  #carryOut(call: StoreCall): string {
    if (call.op === 'renew') this.counters.set(call.id, (this.counters.get(call.id) ?? 0) + 1);
    if (call.op === 'compareSet' && this.value === call.expected) this.value = call.desired;
    return this.value;
  }

  #delay(): number {
    const most = this.#random.chance(0.05) ? 40 * this.#weather.delayMs : 2 * this.#weather.delayMs;
    return this.#random.between(0, most);
  }
}
