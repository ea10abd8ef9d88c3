import { Socket } from 'node:net';
import { namesIn } from '../host/host-files.ts';
import { processState } from '../job/posix-process-group.ts';
import { maxAnswerBytes, parseState } from './rank-state.ts';
import type { RankState } from './rank-state.ts';
import { withSocketAddress } from './socket-address.ts';
import { rankOfSocket, stackSocketName } from './stack-socket.ts';

/** Milliseconds for a rank to answer. */
const answerMs = 2000;

/** Asks the ranks whose sockets are in the folder. Ranks that have ended are left out. Never rejects. */
export async function collectStates(
  folder: string,
  isWanted: (pid: number) => boolean = () => true,
): Promise<RankState[]> {
  const asked = namesIn(folder)
    .map(rankOfSocket)
    .filter((one) => one !== undefined && isWanted(one.pid))
    .map((one) => stateOf(folder, one!));
  return (await Promise.all(asked)).filter((state) => state !== undefined);
}

async function stateOf(
  folder: string,
  { rank, pid }: { rank: number; pid: number },
): Promise<RankState | undefined> {
  const answer = await ask(folder, stackSocketName(rank, pid));
  if (answer === 'ended') return undefined;
  const state = answer === undefined ? undefined : parseState(answer);
  // A process may answer only for its own rank.
  if (state) return { ...state, rank, pid };
  const activity = isStopped(pid) ? 'stopped' : 'silent';
  return { rank, pid, activity, operations: [], stack: [], runId: '' };
}

/** The answer, `ended` if the process has ended, or undefined if it does not answer in time. */
function ask(folder: string, name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = new Socket();
    const end = (result: string | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(end, answerMs, undefined);
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      answer += chunk;
      if (answer.length > maxAnswerBytes) end(undefined);
    });
    socket.on('end', () => {
      end(answer);
    });
    socket.on('error', () => {
      end('ended');
    });
    try {
      withSocketAddress(folder, name, (address) => socket.connect(address));
    } catch {
      end('ended');
    }
  });
}

function isStopped(pid: number): boolean {
  return /^[Tt]/.test(processState(pid) ?? '');
}
