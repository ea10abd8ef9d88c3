/**
 * True if compiled programs use the operators of the addon (native/src/onnxruntime/operators). With
 * RINGRUN_PLAIN_OPERATORS=1 they consist of ONNX's operators only, which compute the same and take longer.
 */
export function usesOwnOperators(): boolean {
  return isOn;
}

/** For tests: later compilations use the operators of the addon, or not. Cached programs stay as they are. */
export function setOwnOperators(on: boolean): void {
  isOn = on;
}

let isOn = process.env.RINGRUN_PLAIN_OPERATORS !== '1';
