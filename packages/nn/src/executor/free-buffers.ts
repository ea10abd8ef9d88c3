import { MessageChannel } from 'node:worker_threads';

/** A port whose other end is closed. */
const { port1: nowhere, port2: end } = new MessageChannel();
end.close();

/**
 * Frees buffers immediately, by transferring them to a closed port. Their arrays become empty.
 *
 * The garbage collector frees memory outside V8's heap late and triggers full collections: about 6 ms every 25 steps for
 * the 0.7 MB per step of a CNN with 62,000 parameters; 130 MB of additional memory for a ResNet-18.
 */
export function freeBuffers(buffers: readonly ArrayBuffer[]): void {
  nowhere.postMessage(undefined, buffers);
}
