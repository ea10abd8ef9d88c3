/**
 * True if compiled programs use the operators of the addon (native/src/onnxruntime/operators). With
 * RINGRUN_PLAIN_OPERATORS=1 they consist of ONNX operators only, which compute the same results more slowly.
 */
export function usesOwnOperators(): boolean {
  return isOn;
}

/** For tests: sets whether later compilations use the operators of the addon. Cached programs are unchanged. */
export function setOwnOperators(on: boolean): void {
  isOn = on;
}

let isOn = process.env.RINGRUN_PLAIN_OPERATORS !== '1';
