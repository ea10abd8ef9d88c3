/*
 * Errors name the function that the user called, not those that it calls: the sum in `x.norm()` throws
 * `sum: expected float32, …`, and the user reads `norm: expected float32, …`.
 */

/** The outermost function being called, which is the one in the user's code; undefined if none is running. */
let called: string | undefined;

/** Runs a user's function, whose errors name the functions that it calls. */
export function inUserFunction<Result>(compute: () => Result): Result {
  const before = called;
  called = undefined;
  try {
    return compute();
  } finally {
    called = before;
  }
}

/** A message that begins with the function that the user called instead of an inner one. */
export function namingTheCall(message: string): string {
  return called === undefined ? message : message.replace(/^\w+(?=: )/, called);
}

/** A copy of a namespace with its functions wrapped so that errors name them. */
export function nameFunctions<Namespace extends object>(namespace: Namespace): Namespace {
  const named = Object.entries(namespace).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'function' ? namedMethod(() => name, value as Method) : value,
  ]);
  return Object.fromEntries(named) as Namespace;
}

/**
 * Lets errors name the modules of a namespace.
 *
 * @param containers modules that call the user's modules
 */
export function nameForwards(
  namespace: Readonly<Record<string, unknown>>,
  containers: readonly unknown[],
): void {
  const owners = new Set<object>();
  for (const one of Object.values(namespace)) {
    if (typeof one !== 'function' || containers.includes(one)) continue;
    const owner = ownerOf(one.prototype as object | undefined, 'forward');
    if (owner !== undefined) owners.add(owner);
  }
  for (const owner of owners) {
    const { forward } = owner as { forward: Method };
    const named = namedMethod((module) => (module as object).constructor.name, forward);
    Object.defineProperty(owner, 'forward', { configurable: true, writable: true, value: named });
  }
}

/** The prototype that has a property itself. */
function ownerOf(prototype: object | undefined, name: string): object | undefined {
  let owner: object | null | undefined = prototype;
  while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
  return owner ?? undefined;
}

/**
 * Lets errors name the methods of a class and of those that it extends.
 *
 * @param others methods that may call the user's functions
 */
export function nameCalls({ prototype }: { readonly prototype: object }, others: readonly string[]): void {
  for (let owner = prototype; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (typeof property.value !== 'function' || others.includes(name)) continue;
      Object.defineProperty(owner, name, {
        ...property,
        value: namedMethod(() => name, property.value as Method),
      });
    }
  }
}

type Method = (this: unknown, ...inputs: unknown[]) => unknown;

/** @param nameOf the name of a call, from its `this` */
function namedMethod(nameOf: (owner: unknown) => string, method: Method): Method {
  const named: Method = function (...inputs) {
    if (called !== undefined) return method.apply(this, inputs);
    called = nameOf(this);
    try {
      return method.apply(this, inputs);
    } finally {
      called = undefined;
    }
  };
  return Object.defineProperty(named, 'name', { value: method.name });
}
