import { ArgumentError } from '../errors.ts';
import { describeValue } from '../stored-tensor.ts';
import { Module } from './module.ts';

/** What ModuleDict and ParameterDict share: members by name, each a property of the module, so that it is registered. */
export abstract class MemberDict<Member> extends Module implements Iterable<[string, Member]> {
  readonly #members = new Map<string, Member>();

  constructor(members: Readonly<Record<string, Member>> | Iterable<readonly [string, Member]> = {}) {
    super();
    const entries = Symbol.iterator in members ? members : Object.entries(members);
    for (const [name, member] of entries) this.set(name, member);
  }

  /** The kind of members that is accepted. */
  protected abstract readonly kind: abstract new (...parameters: never[]) => Member;

  /** Adds or replaces a member. Its name must not be that of a property of modules. */
  set(name: string, member: Member): this {
    if (!(member instanceof this.kind)) {
      throw new ArgumentError(
        `${this.constructor.name}: expected ${this.kind.name}s, got ${describeValue(member)} as '${name}'.`,
      );
    }
    if (name in this && !this.#members.has(name)) {
      throw new ArgumentError(
        `${this.constructor.name}: '${name}' is a property of every module. Choose another name.`,
      );
    }
    this.#members.set(name, member);
    Object.assign(this, { [name]: member });
    return this;
  }

  /** The member with a name; throws if there is none. */
  at(name: string): Member {
    const member = this.#members.get(name);
    if (member === undefined) {
      throw new ArgumentError(
        `${this.constructor.name}: expected one of ${[...this.#members.keys()].join(', ') || 'no names'}, got '${name}'.`,
      );
    }
    return member;
  }

  /** Number of members. */
  get size(): number {
    return this.#members.size;
  }

  /** The names and members, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<[string, Member]> {
    return this.#members.entries();
  }
}
