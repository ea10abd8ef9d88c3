import { describe, expect, test } from 'vitest';
import { isFull } from './support/extent.ts';
import type { Command } from './support/command.ts';
import { findingsOf, words } from './support/doctor.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Host } from './support/hosts.ts';

const problem = hostsProblem();

function doctor(host: Host, ...args: (string | number)[]): Command {
  return host.node(['launch', 'doctor', '--json', ...args.map(String)]);
}

describe.skipIf(problem)(`doctors on separate hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('measure a link of 200 Mbit/s and report it as slow', async () => {
    using network = connectHosts(2, { bitsPerSecond: 200e6 });
    const [master, other] = network.hosts;
    // The other doctor starts first, and waits.
    const there = doctor(other, '--master-addr', master.address);
    await there.sees(/waiting for the store at 10\.0\.0\.1:29500: 10\.0\.0\.1 refuses the connection/);
    const here = doctor(master, '--master-addr', master.address);
    const [hosting, visiting] = await Promise.all([here, there].map(findingsOf));
    expect(hosting['address'].found).toBe(
      '10.0.0.1 on eth0 is the master address: this is the node of rank 0',
    );
    expect(visiting['address'].found).toBe('other nodes connect to this node at 10.0.0.2 on eth0');
    for (const [findings, peer] of [
      [hosting, 'host1'],
      [visiting, 'host0'],
    ] as const) {
      const { level, found, fix, measured } = findings['link'];
      expect(found).toMatch(new RegExp(`^with ${peer} over TCP: `));
      expect({ level, transport: measured!['transport'] }).toEqual({ level: 'warning', transport: 'tcp' });
      expect(fix).toMatch(/registerCommHook/);
      // Headers take 4.4% of the link; the burst allows more than its rate.
      const share = (8 * (measured!['bytesPerSecond'] as number)) / 200e6;
      expect(share, found).toBeGreaterThan(0.3);
      expect(share, found).toBeLessThan(1.1);
      // Both hosts share the clock of this machine.
      expect(Math.abs(findings['clocks'].measured!['aheadMs'] as number)).toBeLessThan(50);
    }
  });

  test.runIf(isFull)('report a closed port, an unreachable master and an unknown host name', async () => {
    using network = connectHosts(3);
    const [master, other, gone] = network.hosts;
    gone.cutLink();
    const [refused, silent, unknown] = await Promise.all(
      [
        doctor(other, '--master-addr', master.address, '--timeout', 3),
        doctor(master, '--master-addr', gone.address, '--node-rank', 1, '--timeout', 3),
        doctor(other, '--master-addr', 'train-master-0.invalid', '--timeout', 2),
      ].map(findingsOf),
    );
    expect(words(refused['port'])).toMatch(
      /^problem: 10\.0\.0\.1:29500 was not reached within \d+ s: 10\.0\.0\.1 refuses the connection, nothing listens on that port yet → .*start the doctor.*ringrun doctor --master-addr 10\.0\.0\.1 --node-rank 0/,
    );
    expect(words(silent['port'])).toMatch(
      /^problem: 10\.0\.0\.3:29500 was not reached within \d s: 10\.0\.0\.3 cannot be reached \((ETIMEDOUT|EHOSTUNREACH)\) → .*firewall/,
    );
    expect(words(unknown['name'])).toMatch(
      /^problem: train-master-0\.invalid did not resolve within \d+ s: (ENOTFOUND|EAI_AGAIN) → /,
    );
    expect(unknown['port']).toBeUndefined();
  });

  test.runIf(isFull)("report a firewall that opens only the master's port", async () => {
    using network = connectHosts(2);
    const [master, other] = network.hosts;
    for (const host of network.hosts) host.admitOnlyPort(29500);
    const [hosting, visiting] = await Promise.all(
      [master, other].map((host) =>
        findingsOf(doctor(host, '--master-addr', master.address, '--timeout', 10)),
      ),
    );
    for (const { port, link } of [hosting, visiting]) {
      expect(port.level).toBe('ok');
      expect(words(link)).toMatch(
        /^problem: the store's port is reachable from host\d, but connections to other ports fail/,
      );
      expect(link.fix).toMatch(/NetworkPolicy/);
    }
  });

  test.runIf(isFull)('a missing second doctor: prints the command to start it', async () => {
    using network = connectHosts(1);
    const [master] = network.hosts;
    const { link } = await findingsOf(doctor(master, '--master-addr', master.address, '--timeout', 2));
    expect(words(link)).toMatch(
      /^warning: not measured: no second doctor connected within \d+ s → run this on another node at the same time: ringrun doctor --master-addr 10\.0\.0\.1 --node-rank 1/,
    );
  });
});
