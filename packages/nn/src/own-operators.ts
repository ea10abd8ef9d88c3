/**
 * True if compiled programs use the operators of the addon (native/src/onnxruntime/operators). With
 * RINGRUN_PLAIN_OPERATORS=1 they consist of ONNX's operators only, which compute the same and take longer.
 */
export function usesOwnOperators(): boolean {
  return isOn;
}

/** Emits graphs with or without the operators of the addon. For tests: programs that are cached stay as they are. */
export function withOwnOperators<T>(on: boolean, emit: () => T): T {
  const before = isOn;
  isOn = on;
  try {
    return emit();
  } finally {
    isOn = before;
  }
}

let isOn = process.env.RINGRUN_PLAIN_OPERATORS !== '1';
