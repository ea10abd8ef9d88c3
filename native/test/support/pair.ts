import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import type { NativeListening, NativeProcessGroup } from '@ringrun/native';
import { loadNative } from '@ringrun/native';

import { noKey } from './rank-by-hand.ts';

const address = '127.0.0.1';

/** Bytes that pass a relay. */
export interface Passing {
  /** 1 control, 2 data, 3 point-to-point. */
  purpose: number;
  /** True for bytes of rank 1, which connects. */
  ofDialler: boolean;
  /** Offset of `bytes` in their direction of the connection. */
  offset: number;
  bytes: Buffer;
}

export interface Relay {
  port: number;
  close(): void;
}

/** Passes on all connections to `port`, after `look` has inspected and possibly changed their bytes. */
export async function startRelay(port: number, look: (passing: Passing) => void): Promise<Relay> {
  const sockets = new Set<Socket>();
  const relay = createServer((dialler) => {
    const listener = connect(port, address);
    let purpose = 0;
    const pass = (from: Socket, to: Socket, ofDialler: boolean) => {
      sockets.add(from);
      let offset = 0;
      from.on('data', (bytes) => {
        if (ofDialler && offset === 0) purpose = bytes[6];
        look({ purpose, ofDialler, offset, bytes });
        offset += bytes.length;
        to.write(bytes);
      });
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
    };
    pass(dialler, listener, true);
    pass(listener, dialler, false);
  }).listen(0, address);
  await once(relay, 'listening');
  return {
    port: (relay.address() as { port: number }).port,
    close: () => {
      relay.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export interface Pair {
  groups: readonly [NativeProcessGroup, NativeProcessGroup];
  /** Timeout of connecting, in milliseconds. */
  outcomes: readonly PromiseSettledResult<void>[];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PairOptions {
  timeoutMs: number;
  /** Default: `noKey` for both. */
  keys?: readonly [Uint8Array, Uint8Array];
  encrypt?: boolean;
  /** The connections between the ranks pass this relay. */
  look?: (passing: Passing) => void;
}

/** Connects two ranks in this process over TCP. */
export async function connectPair({
  timeoutMs,
  keys = [noKey, noKey],
  encrypt = false,
  look,
}: PairOptions): Promise<Pair> {
  const { ProcessGroup } = loadNative();
  const groups = [new ProcessGroup(0, 2), new ProcessGroup(1, 2)] as const;
  const listening = groups.map((group, rank) => group.listen(address, keys[rank], encrypt));
  const relay = look && (await startRelay(listening[0].port, look));
  const endpointsOf = (ports: number[]) =>
    listening.map((one: NativeListening, rank) => ({
      host: rank,
      name: `rank ${rank}`,
      address,
      ...one,
      port: ports[rank],
    }));
  const ports = listening.map(({ port }) => port);
  const seen = [ports, [relay?.port ?? ports[0], ports[1]]];
  const outcomes = await Promise.allSettled(
    groups.map(async (group, rank) => {
      try {
        await group.connect(endpointsOf(seen[rank]), '', timeoutMs, 0);
      } catch (error) {
        await group.destroy(timeoutMs);
        throw error;
      }
    }),
  );
  return {
    groups,
    outcomes,
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(groups.map((group) => group.destroy(timeoutMs)));
      relay?.close();
    },
  };
}
