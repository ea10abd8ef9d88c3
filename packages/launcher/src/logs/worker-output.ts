/** Destination of each stream: the launcher's own stream, nowhere, or an open file by its descriptor. */
export interface WorkerOutput {
  stdout: 'inherit' | 'ignore' | number;
  stderr: 'inherit' | 'ignore' | number;
}
