import { connect } from 'node:net';
import { formatHostPort } from '../../store/endpoint.ts';
import type { HostPort } from '../../store/endpoint.ts';
import { describeReachability } from '../../store/reachability.ts';
import type { Reachability } from '../../store/reachability.ts';
import { formatDuration } from '../../store/waiting-lines.ts';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Whether this machine can listen on the port. */
export type Binding =
  | { kind: 'free' }
  /** `holder` is a clause, such as `process 4711 (node train.js)`; `store`: whether a store of ours answers there. */
  | { kind: 'held'; holder: string; store: boolean }
  | { kind: 'forbidden'; why: string };

/** @param hosts Whether the job's store is to be here; otherwise this machine alone is examined, and a launcher takes another port. */
export function judgeBinding(port: number, binding: Binding, hosts: boolean): Finding {
  if (binding.kind === 'free') return ok(`${port} is free`);
  if (binding.kind === 'forbidden') {
    return problem(
      `${port} cannot be listened on: ${binding.why}`,
      'take a port from 1024 on: --master-port 29500',
    );
  }
  if (binding.store)
    return ok(
      `${port} is in use by ${binding.holder}, which hosts a store of ringrun: a job, or a doctor, is under way`,
    );
  const found = `${port} is in use by ${binding.holder}`;
  if (hosts) return problem(found, `end that process, or take another port on all nodes (--master-port)`);
  return warning(
    `${found}: a script without a launcher cannot host there`,
    'none is needed with ringrun --nproc-per-node, which takes a port that is free; otherwise MASTER_PORT',
  );
}

/** What came of connecting to the master's port for `waitedMs`. */
export interface Attempt extends HostPort {
  state: Reachability;
  waitedMs: number;
  /** What the listener says of itself when asked as a browser asks, or by itself; empty when it says nothing. */
  greeting: string;
}

export function judgeAttempt({ host, port, state, waitedMs, greeting }: Attempt): Finding {
  const where = formatHostPort({ host, port });
  const found = `${where} was not reached within ${formatDuration(waitedMs)}: ${describeReachability(host, state)}`;
  switch (state.kind) {
    case 'unresolved':
      return problem(found, 'the name resolved a moment ago: look at the name server');
    case 'refused':
      return problem(
        found,
        `start the doctor, or the job, on that host too: ringrun doctor --master-addr ${host}${port === 29500 ? '' : ` --master-port ${port}`} --node-rank 0`,
      );
    case 'unreachable':
      return problem(
        found,
        'something swallows the packets: a firewall, a NetworkPolicy, or a host that is down; all TCP ports have to be open between the nodes of a job',
      );
    case 'accepted':
      return problem(
        `${found}${greeting && `. It says ${JSON.stringify(greeting)}`}`,
        'take another port (--master-port); an Istio side-car accepts any connection: annotate the pods with sidecar.istio.io/inject: "false"',
      );
  }
}

const greetingMs = 1000;

/** The first line that whoever listens there sends, within a second; empty when it is not text. */
export function readGreeting({ host, port }: HostPort): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let text = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      const [line] = text.split(/\r?\n/);
      resolve(/^[\x20-\x7e]+$/.test(line) ? line.slice(0, 80) : '');
    };
    const timer = setTimeout(end, greetingMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) end();
    });
    socket.once('error', end).once('end', end);
    socket.write('GET / HTTP/1.0\r\n\r\n');
  });
}
