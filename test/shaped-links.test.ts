import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Host } from './support/hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const script = builtScript('shaped-links.script');

async function serveOn(host: Host): Promise<void> {
  await host.node([script, 'serve']).sees(/listening/);
}

/** Seconds of each time until all hosts have received so many bytes. */
async function send(from: Host, to: readonly Host[], bytes: number, times: number): Promise<number[]> {
  const addresses = to.map(({ address }) => address).join(',');
  const ended = await from.node([script, 'send', addresses, String(bytes), String(times)]).ended;
  const { stdout, code } = withoutWaiting(ended);
  expect(code).toBe(0);
  return JSON.parse(stdout) as number[];
}

// A busy machine makes every figure larger, so most upper limits are wide.
describe.skipIf(problem)(`emulated links${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('have their delay in each direction, and pairs their own', async () => {
    using network = connectHosts(3, { links: { delayMs: 5, pairs: [{ hosts: [0, 2], delayMs: 40 }] } });
    const [first, second, third] = network.hosts;
    await Promise.all([second, third].map(serveOn));
    const near = Math.min(...(await send(first, [second], 1, 5)));
    const far = Math.min(...(await send(first, [third], 1, 5)));
    expect(near).toBeGreaterThan(0.0099);
    expect(near).toBeLessThan(0.03);
    expect(far).toBeGreaterThan(0.0799);
    expect(far).toBeLessThan(0.1);
  });

  test('have their rate, headers included, and count what they deliver', async () => {
    const bytes = 2_500_000;
    using network = connectHosts(2, { links: { bitsPerSecond: 1e8, delayMs: 5 } });
    const [first, second] = network.hosts;
    await serveOn(second);
    const seconds = await send(first, [second], bytes, 3);
    // 1,448 of each 1,514 bytes.
    const least = (bytes * 8 * 1514) / 1448 / 1e8;
    for (const one of seconds) expect(one).toBeGreaterThan(least);
    expect(Math.min(...seconds)).toBeLessThan(2 * least);
    const { bytes: sent } = await network.links.traffic();
    expect(sent[0][1] / (3 * bytes)).toBeGreaterThan(1.04);
    expect(sent[0][1] / (3 * bytes)).toBeLessThan(1.1);
    expect(sent[1][0]).toBeGreaterThan(0);
  });

  test('share the uplink of their host', async () => {
    const bytes = 1_000_000;
    using network = connectHosts(3, { links: { uplinkBitsPerSecond: 5e7 } });
    const [first, second, third] = network.hosts;
    await Promise.all([second, third].map(serveOn));
    const seconds = await send(first, [second, third], bytes, 3);
    for (const one of seconds) expect(one).toBeGreaterThan((2 * bytes * 8) / 5e7);
  });

  test('change while packets are under way: delay, rate and cut', async () => {
    using network = connectHosts(2, { links: { delayMs: 2 } });
    const [first, second] = network.hosts;
    await serveOn(second);
    const drip = first.node([script, 'drip', second.address]);
    await drip.sees(/took \d ms/);
    network.links.set(0, 1, { delayMs: 60 });
    await drip.sees(/took 1[2-9]\d ms/);
    network.links.set(0, 1, { isCut: true, delayMs: 2 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { dropped } = await network.links.traffic();
    expect(dropped[0][1]).toBeGreaterThan(0);
    network.links.set(0, 1, { isCut: false });
    // The byte that was lost is sent again.
    await drip.sees(/took [3-9]\d\d ms|took \d{4} ms/);
    network.links.set(0, 1, { bitsPerSecond: 8_000 });
    // 67 bytes of a packet with one byte take 67 ms at 1,000 bytes per second.
    await drip.sees(/took [12]\d\d ms/);
  });
});
