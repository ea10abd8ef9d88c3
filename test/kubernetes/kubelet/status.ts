import type {
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  Container,
} from 'kubernetes-types/core/v1.js';
import { restarts } from './restart-policy.ts';

/** The kubelet's record of a container. */
export interface ContainerRecord {
  state: ContainerState;
  lastState: ContainerState;
  restartCount: number;
  /** Answers its readiness probe, or runs without one. */
  isReady: boolean;
}

export interface PodRecord {
  /** In the order of the pod's init containers. */
  initContainers: ContainerRecord[];
  containers: ContainerRecord[];
  podIP: string | undefined;
  hostIP: string;
  startTime: string;
}

/** A container that has not started. */
export function newRecord(reason: string): ContainerRecord {
  return { state: { waiting: { reason } }, lastState: {}, restartCount: 0, isReady: false };
}

/** The status of a pod, from its specification and the history of its containers. */
export function statusOf(pod: Pod, record: PodRecord, now: string): PodStatus {
  const { initContainers, containers, podIP, hostIP, startTime } = record;
  const isInitialized = initContainers.every(({ state }) => state.terminated?.exitCode === 0);
  const isReady = isInitialized && containers.every((container) => container.isReady);
  const { containers: specs, initContainers: initSpecs = [] } = pod.spec!;
  const conditions = { Initialized: isInitialized, ContainersReady: isReady, Ready: isReady };
  return {
    phase: phaseOf(pod, record),
    hostIP,
    ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }),
    startTime,
    conditions: withConditions(pod.status?.conditions ?? [], conditions, now),
    initContainerStatuses: initSpecs.map((spec, i) =>
      containerStatus(spec, initContainers[i], initContainers[i].state.terminated?.exitCode === 0),
    ),
    containerStatuses: specs.map((spec, i) => containerStatus(spec, containers[i], containers[i].isReady)),
  };
}

function phaseOf({ spec }: Pod, { initContainers, containers }: PodRecord): string {
  const willRestart = ({ state }: ContainerRecord): boolean =>
    state.terminated !== undefined && restarts(spec!.restartPolicy, state.terminated.exitCode);
  const failed = initContainers.some(
    (init) => (init.state.terminated?.exitCode ?? 0) !== 0 && !willRestart(init),
  );
  if (failed) return 'Failed';
  if (initContainers.some(({ state }) => state.terminated?.exitCode !== 0)) return 'Pending';
  const haveEnded = containers.every(
    (container) => container.state.terminated !== undefined && !willRestart(container),
  );
  if (haveEnded)
    return containers.every(({ state }) => state.terminated!.exitCode === 0) ? 'Succeeded' : 'Failed';
  const haveStarted = containers.some(({ state, restartCount }) => !state.waiting || restartCount > 0);
  return haveStarted ? 'Running' : 'Pending';
}

function withConditions(
  known: readonly PodCondition[],
  wanted: Readonly<Record<string, boolean>>,
  now: string,
): PodCondition[] {
  const others = known.filter(({ type }) => !(type in wanted));
  const ours = Object.entries(wanted).map(([type, isTrue]): PodCondition => {
    const status = isTrue ? 'True' : 'False';
    const before = known.find((condition) => condition.type === type);
    return before?.status === status ? before : { type, status, lastTransitionTime: now };
  });
  return [...others, ...ours];
}

function containerStatus(
  { name, image }: Container,
  { state, lastState, restartCount }: ContainerRecord,
  ready: boolean,
): ContainerStatus {
  return {
    name,
    image: image!,
    imageID: image!,
    state,
    lastState,
    restartCount,
    ready,
    started: state.running !== undefined,
  };
}
