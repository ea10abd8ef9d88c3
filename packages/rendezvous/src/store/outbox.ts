import type { MessageLike } from './zeromq.ts';

/** The sending part of a ZeroMQ socket. */
interface SendingSocket {
  readonly closed: boolean;
  send(frames: MessageLike[]): Promise<void>;
}

/** Queues messages: a second `send` of a ZeroMQ socket while one is pending fails with EBUSY. */
export class Outbox {
  readonly #socket: SendingSocket;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: SendingSocket) {
    this.#socket = socket;
  }

  /** Resolves when ZeroMQ has accepted the message. Closing the socket drops queued messages. */
  send(frames: MessageLike[]): Promise<void> {
    this.#last = this.#last.then(async () => {
      try {
        if (!this.#socket.closed) await this.#socket.send(frames);
      } catch (error) {
        if (!this.#socket.closed) throw error;
      }
    });
    return this.#last;
  }
}
