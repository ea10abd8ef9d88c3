export { checkedLinks } from './checked-links.ts';
export type { GroupHosts, MeasureLinksOptions } from './group-links.ts';
export { linksAmong } from './links-among.ts';
export { writeLinksFile } from './links-file.ts';
export { requestedLinks, savedLinksPath } from './requested-links.ts';
export type { RequestedLinks } from './requested-links.ts';
