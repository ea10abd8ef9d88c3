import type { INamespace, Type } from 'protobufjs/light.js';
import { whenUsed } from '../when-used.ts';
import type { Histogram } from './histogram.ts';

const protobuf = whenUsed('protobufjs/light.js') as () => typeof import('protobufjs/light.js');

// The subset of TensorFlow's event.proto, summary.proto, histogram.proto and tensor.proto that ringrun
// writes.
const schema: INamespace = {
  nested: {
    Event: {
      oneofs: { what: { oneof: ['fileVersion', 'summary', 'sessionLog'] } },
      fields: {
        wallTime: { type: 'double', id: 1 },
        step: { type: 'int64', id: 2 },
        fileVersion: { type: 'string', id: 3 },
        summary: { type: 'Summary', id: 5 },
        sessionLog: { type: 'SessionLog', id: 7 },
      },
    },
    SessionLog: { fields: { status: { type: 'int32', id: 1 } } },
    Summary: { fields: { value: { rule: 'repeated', type: 'Value', id: 1 } } },
    Value: {
      oneofs: { value: { oneof: ['simpleValue', 'histo', 'tensor'] } },
      fields: {
        tag: { type: 'string', id: 1 },
        simpleValue: { type: 'float', id: 2 },
        histo: { type: 'HistogramProto', id: 5 },
        tensor: { type: 'TensorProto', id: 8 },
        metadata: { type: 'SummaryMetadata', id: 9 },
      },
    },
    HistogramProto: {
      fields: {
        min: { type: 'double', id: 1 },
        max: { type: 'double', id: 2 },
        num: { type: 'double', id: 3 },
        sum: { type: 'double', id: 4 },
        sumSquares: { type: 'double', id: 5 },
        bucketLimit: { rule: 'repeated', type: 'double', id: 6, options: { packed: true } },
        bucket: { rule: 'repeated', type: 'double', id: 7, options: { packed: true } },
      },
    },
    SummaryMetadata: { fields: { pluginData: { type: 'PluginData', id: 1 } } },
    PluginData: { fields: { pluginName: { type: 'string', id: 1 } } },
    TensorProto: {
      fields: {
        dtype: { type: 'int32', id: 1 },
        tensorShape: { type: 'TensorShapeProto', id: 2 },
        stringVal: { rule: 'repeated', type: 'bytes', id: 8 },
      },
    },
    TensorShapeProto: { fields: {} },
  },
};

let eventType: Type | undefined;

/** tensorflow.DataType.DT_STRING. */
const stringType = 7;

/** tensorflow.SessionLog.SessionStatus.START: readers drop values of earlier files of the run from this step on. */
export const sessionStart = 1;

/** One value of a summary, under a tag. */
export type SummaryValue = { tag: string } & (
  | { simpleValue: number }
  | { histo: Histogram }
  | { metadata: { pluginData: { pluginName: string } }; tensor: object }
);

/** The content of an event. `wallTime` is in seconds since 1970. */
export type Event = { wallTime: number } & (
  | { fileVersion: string; step?: number | undefined }
  | { step: number; sessionLog: { status: typeof sessionStart } }
  | { step?: number | undefined; summary: { value: readonly SummaryValue[] } }
);

export function encodeEvent(event: Event): Uint8Array {
  eventType ??= protobuf().Root.fromJSON(schema).lookupType('Event');
  return eventType.encode(eventType.fromObject(event)).finish();
}

/**
 * A text, which may be Markdown, for the text dashboard. TensorBoard shows a scalar as plain text, and [1] as a table.
 */
export function textValue(tag: string, text: string): SummaryValue {
  return {
    tag: `${tag}/text_summary`,
    metadata: { pluginData: { pluginName: 'text' } },
    tensor: {
      dtype: stringType,
      tensorShape: {},
      stringVal: [Buffer.from(text)],
    },
  };
}
