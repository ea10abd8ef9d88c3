import { groupLinks as linksOf, measureGroupLinks } from '@ringrun/collectives';
import type { MeasureLinksOptions } from '@ringrun/collectives';
import { requireOptions } from '@ringrun/core';
import type { Links, OptionNames, ProcessGroup } from '@ringrun/core';
import { defaultGroup, groupOf } from './groups.ts';
import type { GroupOption } from './groups.ts';

const optionNames: OptionNames<MeasureLinksOptions & GroupOption> = {
  group: true,
  timeoutMs: true,
  use: true,
};

/**
 * The links between the hosts of the group that its collectives follow. Undefined if the group treats all hosts alike: it
 * was formed without the option `links` of {@link initProcessGroup}.
 */
export function groupLinks(group: ProcessGroup | null = defaultGroup()): Links | undefined {
  return linksOf(groupOf({ group }));
}

/**
 * Measures delay and bandwidth between the hosts of the group, in about a second. A collective; the result is equal on
 * all ranks. With `use`, later operations of the group follow the measured links, for example after a link has become
 * slow. Results of later reductions may then differ in the last bits, because the order of additions changes.
 *
 * Beyond 13 hosts, each measures its links to 12 others, and the rest is estimated from those.
 *
 * @throws InvalidArgumentError for unknown options, or a group that is not of `initProcessGroup` or `newGroup`; the
 * errors of a collective.
 */
export async function measureLinks(options: MeasureLinksOptions & GroupOption = {}): Promise<Links> {
  requireOptions('measureLinks', options, optionNames);
  const measuring = { ...options };
  delete measuring.group;
  return await measureGroupLinks(groupOf(options), measuring);
}
