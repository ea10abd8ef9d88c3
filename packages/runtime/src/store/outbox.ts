import type { MessageLike } from 'zeromq';

/** The part of a ZeroMQ socket that sends. */
interface SendingSocket {
  readonly closed: boolean;
  send(frames: MessageLike[]): Promise<void>;
}

/** Sends messages one after the other, as a ZeroMQ socket has to: a second `send` while one is pending fails with EBUSY. */
export class Outbox {
  readonly #socket: SendingSocket;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: SendingSocket) {
    this.#socket = socket;
  }

  /** Resolves when ZeroMQ has the message. What is still queued when the socket closes is dropped. */
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
