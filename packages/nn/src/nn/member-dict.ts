import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';
import { attributesOf, holdMembers } from './attributes.ts';
import { isRegistered, Module } from './module.ts';

/** Base class of ModuleDict and ParameterDict: members by name, each registered as an attribute of the module. */
export abstract class MemberDict<Member> extends Module implements Iterable<[string, Member]> {
  readonly #members = new Map<string, Member>();

  constructor(members: Readonly<Record<string, Member>> | Iterable<readonly [string, Member]> = {}) {
    super();
    holdMembers(this, this.#members);
    const entries = Symbol.iterator in members ? members : Object.entries(members);
    for (const [name, member] of entries) this.set(name, member);
  }

  /** The kind of members to accept. */
  protected abstract readonly kind: abstract new (...parameters: never[]) => Member;

  /**
   * Adds or replaces a member. As in torch, a name must not be empty or contain a dot, which separates the names in a key.
   *
   * @throws ArgumentError for an invalid name, or if a subclass already uses it for a parameter or module
   */
  set(name: string, member: Member): this {
    if (!(member instanceof this.kind)) {
      throw new ArgumentError(
        `${this.constructor.name}: expected ${this.kind.name}s, got ${describeValue(member)} as '${name}'.`,
      );
    }
    this.#requireName(name);
    this.#members.set(name, member);
    return this;
  }

  #requireName(name: string): void {
    if (name === '' || name.includes('.')) {
      throw new ArgumentError(
        `${this.constructor.name}: expected a name without dots, got '${name}'. Choose another name.`,
      );
    }
    const isTaken = attributesOf(this).some(([one, value]) => one === name && isRegistered(value));
    if (isTaken && !this.#members.has(name)) {
      throw new ArgumentError(
        `${this.constructor.name}: '${name}' is the name of a property with parameters. Choose another name.`,
      );
    }
  }

  /** Returns the member with a name; throws if it does not exist. */
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
