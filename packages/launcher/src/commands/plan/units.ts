import { InvalidArgumentError } from 'commander';

/** A link as `ping` and its vendor describe it. */
export interface LinkText {
  bitsPerSecond: number;
  roundTripSeconds: number;
}

const bitUnits = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 } as const;
const timeUnits = { us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1 } as const;
const byteUnits = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
} as const;

/** Parses `1Gbit/20ms`: bandwidth and round-trip time. */
export function parseLink(text: string): LinkText {
  const [, bits, bitUnit = '', time, timeUnit = ''] =
    /^(\d+(?:\.\d+)?)([kmg]?bit)(?:\/s)?\/(\d+(?:\.\d+)?)(us|µs|ms|s)$/i.exec(text) ?? [];
  const unitOf = (units: Readonly<Record<string, number>>, name: string) => units[name.toLowerCase()];
  const bitsPerSecond = Number(bits) * unitOf(bitUnits, bitUnit);
  const roundTripSeconds = Number(time) * unitOf(timeUnits, timeUnit);
  if (bitsPerSecond > 0 && roundTripSeconds >= 0) return { bitsPerSecond, roundTripSeconds };
  throw new InvalidArgumentError(
    'Expected a bandwidth and the round-trip time that ping prints, such as 100Mbit/20ms or 1Gbit/0.2ms.',
  );
}

/** Parses `500M`, `1.5GB` or `2GiB`: bytes, in powers of ten or of two. */
export function parseBytes(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([kmgt]i?)?b?$/i.exec(text) ?? [];
  const bytes = Number(number) * byteUnits[unit.toLowerCase() as keyof typeof byteUnits];
  if (bytes >= 1) return bytes;
  throw new InvalidArgumentError('Expected bytes of at least 1, such as 500M, 1.5G or 512Mi.');
}

/** A number above 0 and at most `most`. */
export function parsePositive(most: number, unit: string): (text: string) => number {
  return (text) => {
    const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : NaN;
    if (value > 0 && value <= most) return value;
    throw new InvalidArgumentError(`Expected ${unit} above 0 and at most ${most}.`);
  };
}

/** `52 ms`, `1.3 s`, `4.2 h`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${Number((1000 * seconds).toPrecision(3))} ms`;
  if (seconds < 600) return `${Number(seconds.toPrecision(3))} s`;
  return seconds < 36_000
    ? `${Math.round(seconds / 60)} min`
    : `${Number((seconds / 3600).toPrecision(3))} h`;
}

/** `100 Mbit/s`. */
export function formatBits(bytesPerSecond: number): string {
  const bits = 8 * bytesPerSecond;
  const [unit, size] = bits >= 1e9 ? ['Gbit/s', 1e9] : bits >= 1e6 ? ['Mbit/s', 1e6] : ['kbit/s', 1e3];
  return `${Number((bits / size).toPrecision(3))} ${unit}`;
}
