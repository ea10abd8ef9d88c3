import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  describePortOwner,
  findPortOwner,
  parseCommandLine,
  parseListeningSockets,
} from '../../src/store/port-owner.ts';

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 40217 1 0000000000000000 100 0 0 10 0
   1: 0100007F:733C 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 40230 1 0000000000000000 20 4 30 10 -1
`;
const tcp6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17001 1 0000000000000000 100 0 0 10 0
`;

test('parses listening sockets of both families, ignores connections', () => {
  expect(parseListeningSockets(tcp)).toEqual([{ port: 29500, uid: 1000, inode: '40217' }]);
  expect(parseListeningSockets(tcp6)).toEqual([{ port: 22, uid: 0, inode: '17001' }]);
  expect(parseListeningSockets('')).toEqual([]);
});

test('shortens long command lines', () => {
  expect(parseCommandLine('node\0train.js\0--epochs\x003\0')).toBe('node train.js --epochs 3');
  expect(parseCommandLine(`node\0${'x'.repeat(500)}`).length).toBe(201);
});

test.each(['127.0.0.1', '::'])('finds this process as the owner of a port on %s', async (host) => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const owner = await findPortOwner(port);
  expect(owner?.process?.pid).toBe(process.pid);
  expect(describePortOwner(owner)).toMatch(new RegExp(`^process ${process.pid} \\(.+\\)$`));
});

test('describes holders that are not visible', () => {
  expect(describePortOwner(undefined)).toBe('another process');
  expect(describePortOwner({ uid: 0, process: undefined })).toBe(
    'a process of user id 0 that is not visible from here',
  );
});
