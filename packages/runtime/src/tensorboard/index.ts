export { SummaryWriter, type SummaryWriterOptions } from './summary-writer.ts';
