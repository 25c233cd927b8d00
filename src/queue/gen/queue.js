/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";
import { readInt53, readUint53 } from "../grpc/int53.ts";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

const $root = $protobuf.roots["slipway-queue"] || ($protobuf.roots["slipway-queue"] = {});

export const queue = $root.queue = (() => {

    const queue = {};

    queue.v1 = (function() {

        const v1 = {};

        v1.Priority = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "PRIORITY_UNSPECIFIED"] = 0;
            values[valuesById[1] = "PRIORITY_CRITICAL"] = 1;
            values[valuesById[2] = "PRIORITY_HIGH"] = 2;
            values[valuesById[3] = "PRIORITY_NORMAL"] = 3;
            values[valuesById[4] = "PRIORITY_LOW"] = 4;
            values[valuesById[5] = "PRIORITY_BACKGROUND"] = 5;
            return values;
        })();

        v1.Acks = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "ACKS_UNSPECIFIED"] = 0;
            values[valuesById[1] = "ACKS_ALL"] = 1;
            values[valuesById[2] = "ACKS_LEADER"] = 2;
            values[valuesById[3] = "ACKS_NONE"] = 3;
            return values;
        })();

        v1.Start = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "START_UNSPECIFIED"] = 0;
            values[valuesById[1] = "START_EARLIEST"] = 1;
            values[valuesById[2] = "START_LATEST"] = 2;
            values[valuesById[3] = "START_OFFSET"] = 3;
            values[valuesById[4] = "START_TIMESTAMP"] = 4;
            return values;
        })();

        v1.ErrorCode = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "ERROR_CODE_UNSPECIFIED"] = 0;
            values[valuesById[100] = "ERROR_CODE_TOPIC_NOT_FOUND"] = 100;
            values[valuesById[101] = "ERROR_CODE_TOPIC_ALREADY_EXISTS"] = 101;
            values[valuesById[102] = "ERROR_CODE_PARTITION_NOT_FOUND"] = 102;
            values[valuesById[103] = "ERROR_CODE_INVALID_PARTITION"] = 103;
            values[valuesById[104] = "ERROR_CODE_INVALID_TOPIC_NAME"] = 104;
            values[valuesById[105] = "ERROR_CODE_PARTITION_DECREASE_NOT_ALLOWED"] = 105;
            values[valuesById[200] = "ERROR_CODE_GROUP_NOT_FOUND"] = 200;
            values[valuesById[201] = "ERROR_CODE_MEMBER_NOT_FOUND"] = 201;
            values[valuesById[202] = "ERROR_CODE_REBALANCE_IN_PROGRESS"] = 202;
            values[valuesById[203] = "ERROR_CODE_STALE_GENERATION"] = 203;
            values[valuesById[204] = "ERROR_CODE_SESSION_TIMEOUT"] = 204;
            values[valuesById[205] = "ERROR_CODE_NOT_ASSIGNED"] = 205;
            values[valuesById[206] = "ERROR_CODE_GROUP_NOT_EMPTY"] = 206;
            values[valuesById[207] = "ERROR_CODE_AMBIGUOUS_GROUP"] = 207;
            values[valuesById[300] = "ERROR_CODE_MESSAGE_TOO_LARGE"] = 300;
            values[valuesById[301] = "ERROR_CODE_INVALID_MESSAGE"] = 301;
            values[valuesById[302] = "ERROR_CODE_INVALID_RECEIPT_HANDLE"] = 302;
            values[valuesById[303] = "ERROR_CODE_RECEIPT_HANDLE_EXPIRED"] = 303;
            values[valuesById[304] = "ERROR_CODE_MESSAGE_NOT_FOUND"] = 304;
            values[valuesById[305] = "ERROR_CODE_BATCH_TOO_LARGE"] = 305;
            values[valuesById[306] = "ERROR_CODE_INVALID_OFFSET"] = 306;
            values[valuesById[307] = "ERROR_CODE_OFFSET_OUT_OF_RANGE"] = 307;
            values[valuesById[308] = "ERROR_CODE_INVALID_PRIORITY"] = 308;
            values[valuesById[309] = "ERROR_CODE_INVALID_DELAY"] = 309;
            values[valuesById[310] = "ERROR_CODE_DELAYED_MESSAGE_NOT_FOUND"] = 310;
            values[valuesById[400] = "ERROR_CODE_TRANSACTION_NOT_FOUND"] = 400;
            values[valuesById[401] = "ERROR_CODE_TRANSACTION_TIMED_OUT"] = 401;
            values[valuesById[402] = "ERROR_CODE_PRODUCER_FENCED"] = 402;
            values[valuesById[403] = "ERROR_CODE_INVALID_TRANSACTION_STATE"] = 403;
            values[valuesById[404] = "ERROR_CODE_PRODUCER_NOT_FOUND"] = 404;
            values[valuesById[405] = "ERROR_CODE_OUT_OF_ORDER_SEQUENCE"] = 405;
            values[valuesById[406] = "ERROR_CODE_TRANSACTION_IN_PROGRESS"] = 406;
            values[valuesById[500] = "ERROR_CODE_NOT_LEADER"] = 500;
            values[valuesById[501] = "ERROR_CODE_LEADER_NOT_AVAILABLE"] = 501;
            values[valuesById[502] = "ERROR_CODE_NOT_READY"] = 502;
            values[valuesById[503] = "ERROR_CODE_NOT_ENOUGH_REPLICAS"] = 503;
            values[valuesById[504] = "ERROR_CODE_SHUTTING_DOWN"] = 504;
            values[valuesById[505] = "ERROR_CODE_DISK_FULL"] = 505;
            values[valuesById[506] = "ERROR_CODE_TIMEOUT"] = 506;
            values[valuesById[600] = "ERROR_CODE_UNAUTHENTICATED"] = 600;
            values[valuesById[601] = "ERROR_CODE_API_KEY_INVALID"] = 601;
            values[valuesById[602] = "ERROR_CODE_API_KEY_EXPIRED"] = 602;
            values[valuesById[603] = "ERROR_CODE_API_KEY_REVOKED"] = 603;
            values[valuesById[604] = "ERROR_CODE_TOKEN_INVALID"] = 604;
            values[valuesById[605] = "ERROR_CODE_TOKEN_EXPIRED"] = 605;
            values[valuesById[606] = "ERROR_CODE_FORBIDDEN"] = 606;
            values[valuesById[607] = "ERROR_CODE_ACL_DENIED"] = 607;
            values[valuesById[608] = "ERROR_CODE_KEY_NOT_FOUND"] = 608;
            values[valuesById[609] = "ERROR_CODE_ACL_NOT_FOUND"] = 609;
            values[valuesById[700] = "ERROR_CODE_SCHEMA_INCOMPATIBLE"] = 700;
            values[valuesById[701] = "ERROR_CODE_SCHEMA_VALIDATION_FAILED"] = 701;
            values[valuesById[702] = "ERROR_CODE_UNSUPPORTED_SCHEMA_TYPE"] = 702;
            values[valuesById[800] = "ERROR_CODE_RATE_LIMITED"] = 800;
            values[valuesById[900] = "ERROR_CODE_INTERNAL"] = 900;
            values[valuesById[901] = "ERROR_CODE_INVALID_ARGUMENT"] = 901;
            values[valuesById[902] = "ERROR_CODE_NOT_FOUND"] = 902;
            values[valuesById[903] = "ERROR_CODE_INVALID_JSON"] = 903;
            values[valuesById[904] = "ERROR_CODE_UNSUPPORTED_MEDIA_TYPE"] = 904;
            return values;
        })();

        v1.Error = (function() {

            const Error = function (properties) {
                this.details = {};
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Error.prototype.code = 0;
            Error.prototype.reason = "";
            Error.prototype.message = "";
            Error.prototype.details = $util.emptyObject;
            Error.prototype.retryAfter = null;

            Error.create = function(properties) {
                return new Error(properties);
            };

            Error.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== 0)
                    writer.uint32(8).int32(message.code);
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(18).string(message.reason);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(26).string(message.message);
                if (message.details != null && $Object.hasOwnProperty.call(message, "details"))
                    for (let keys = $Object.keys(message.details), i = 0; i < keys.length; ++i)
                        writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.details[keys[i]]).ldelim();
                if (message.retryAfter != null && $Object.hasOwnProperty.call(message, "retryAfter"))
                    $root.google.protobuf.Duration.encode(message.retryAfter, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Error.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, key, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Error();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (message.details === $util.emptyObject)
                                message.details = {};
                            let end2 = reader.size() + reader.pos;
                            if (end2 > reader.len)
                                throw $RangeError("index out of range");
                            reader.len = end2;
                            key = "";
                            value = "";
                            while (reader.pos < end2) {
                                let tag2 = reader.tag();
                                wireType = tag2 & 7;
                                switch (tag2 >>>= 3) {
                                case 1:
                                    if (wireType !== 2)
                                        break;
                                    key = reader.stringVerify();
                                    continue;
                                case 2:
                                    if (wireType !== 2)
                                        break;
                                    value = reader.stringVerify();
                                    continue;
                                }
                                reader.skipType(wireType, _depth, tag2);
                            }
                            if (reader.pos !== end2)
                                throw $RangeError("index out of range");
                            reader.len = end;
                            if (key === "__proto__")
                                $util.makeProp(message.details, key);
                            message.details[key] = value;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.retryAfter = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.retryAfter);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Error;
        })();

        v1.PublishRequest = (function() {

            const PublishRequest = function (properties) {
                this.headers = {};
                this.batch = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            PublishRequest.prototype.topic = "";
            PublishRequest.prototype.payload = $util.newBuffer([]);
            PublishRequest.prototype.key = $util.newBuffer([]);
            PublishRequest.prototype.headers = $util.emptyObject;
            PublishRequest.prototype.partition = null;
            PublishRequest.prototype.priority = 0;
            PublishRequest.prototype.delay = null;
            PublishRequest.prototype.deliverAt = null;
            PublishRequest.prototype.acks = 0;
            PublishRequest.prototype.correlationId = 0;
            PublishRequest.prototype.producerId = 0;
            PublishRequest.prototype.producerEpoch = 0;
            PublishRequest.prototype.sequence = 0;
            PublishRequest.prototype.idempotencyKey = "";
            PublishRequest.prototype.transactionId = "";
            PublishRequest.prototype.batch = $util.emptyArray;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(PublishRequest.prototype, "_partition", {
                get: $util.oneOfGetter($oneOfFields = ["partition"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            PublishRequest.create = function(properties) {
                return new PublishRequest(properties);
            };

            PublishRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.payload != null && $Object.hasOwnProperty.call(message, "payload") && message.payload.length)
                    writer.uint32(18).bytes(message.payload);
                if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key.length)
                    writer.uint32(26).bytes(message.key);
                if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                    for (let keys = $Object.keys(message.headers), i = 0; i < keys.length; ++i)
                        writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.headers[keys[i]]).ldelim();
                if (message.partition != null && $Object.hasOwnProperty.call(message, "partition"))
                    writer.uint32(40).int32(message.partition);
                if (message.priority != null && $Object.hasOwnProperty.call(message, "priority") && message.priority !== 0)
                    writer.uint32(48).int32(message.priority);
                if (message.delay != null && $Object.hasOwnProperty.call(message, "delay"))
                    $root.google.protobuf.Duration.encode(message.delay, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.deliverAt != null && $Object.hasOwnProperty.call(message, "deliverAt"))
                    $root.google.protobuf.Timestamp.encode(message.deliverAt, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.acks != null && $Object.hasOwnProperty.call(message, "acks") && message.acks !== 0)
                    writer.uint32(72).int32(message.acks);
                if (message.correlationId != null && $Object.hasOwnProperty.call(message, "correlationId") && (typeof message.correlationId === "object" ? message.correlationId.low || message.correlationId.high : message.correlationId !== 0))
                    writer.uint32(80).uint64(message.correlationId);
                if (message.producerId != null && $Object.hasOwnProperty.call(message, "producerId") && (typeof message.producerId === "object" ? message.producerId.low || message.producerId.high : message.producerId !== 0))
                    writer.uint32(88).int64(message.producerId);
                if (message.producerEpoch != null && $Object.hasOwnProperty.call(message, "producerEpoch") && message.producerEpoch !== 0)
                    writer.uint32(96).int32(message.producerEpoch);
                if (message.sequence != null && $Object.hasOwnProperty.call(message, "sequence") && (typeof message.sequence === "object" ? message.sequence.low || message.sequence.high : message.sequence !== 0))
                    writer.uint32(104).int64(message.sequence);
                if (message.idempotencyKey != null && $Object.hasOwnProperty.call(message, "idempotencyKey") && message.idempotencyKey !== "")
                    writer.uint32(114).string(message.idempotencyKey);
                if (message.transactionId != null && $Object.hasOwnProperty.call(message, "transactionId") && message.transactionId !== "")
                    writer.uint32(122).string(message.transactionId);
                if (message.batch != null && message.batch.length)
                    for (let i = 0; i < message.batch.length; ++i)
                        $root.queue.v1.PublishRequest.encode(message.batch[i], writer.uint32(130).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            PublishRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, key, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.PublishRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.payload = value;
                            else
                                delete message.payload;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.key = value;
                            else
                                delete message.key;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (message.headers === $util.emptyObject)
                                message.headers = {};
                            let end2 = reader.size() + reader.pos;
                            if (end2 > reader.len)
                                throw $RangeError("index out of range");
                            reader.len = end2;
                            key = "";
                            value = "";
                            while (reader.pos < end2) {
                                let tag2 = reader.tag();
                                wireType = tag2 & 7;
                                switch (tag2 >>>= 3) {
                                case 1:
                                    if (wireType !== 2)
                                        break;
                                    key = reader.stringVerify();
                                    continue;
                                case 2:
                                    if (wireType !== 2)
                                        break;
                                    value = reader.stringVerify();
                                    continue;
                                }
                                reader.skipType(wireType, _depth, tag2);
                            }
                            if (reader.pos !== end2)
                                throw $RangeError("index out of range");
                            reader.len = end;
                            if (key === "__proto__")
                                $util.makeProp(message.headers, key);
                            message.headers[key] = value;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            message.partition = reader.int32();
                            message._partition = "partition";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.priority = value;
                            else
                                delete message.priority;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.delay = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.delay);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.deliverAt = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.deliverAt);
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.acks = value;
                            else
                                delete message.acks;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.correlationId = value;
                            else
                                delete message.correlationId;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.producerId = value;
                            else
                                delete message.producerId;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.producerEpoch = value;
                            else
                                delete message.producerEpoch;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.sequence = value;
                            else
                                delete message.sequence;
                            continue;
                        }
                    case 14: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.idempotencyKey = value;
                            else
                                delete message.idempotencyKey;
                            continue;
                        }
                    case 15: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.transactionId = value;
                            else
                                delete message.transactionId;
                            continue;
                        }
                    case 16: {
                            if (wireType !== 2)
                                break;
                            if (!(message.batch && message.batch.length))
                                message.batch = [];
                            message.batch.push($root.queue.v1.PublishRequest.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return PublishRequest;
        })();

        v1.PublishResponse = (function() {

            const PublishResponse = function (properties) {
                this.results = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            PublishResponse.prototype.correlationId = 0;
            PublishResponse.prototype.topic = "";
            PublishResponse.prototype.partition = 0;
            PublishResponse.prototype.offset = 0;
            PublishResponse.prototype.timestamp = null;
            PublishResponse.prototype.duplicate = false;
            PublishResponse.prototype.error = null;
            PublishResponse.prototype.count = 0;
            PublishResponse.prototype.results = $util.emptyArray;
            PublishResponse.prototype.delayedId = "";

            PublishResponse.create = function(properties) {
                return new PublishResponse(properties);
            };

            PublishResponse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.correlationId != null && $Object.hasOwnProperty.call(message, "correlationId") && (typeof message.correlationId === "object" ? message.correlationId.low || message.correlationId.high : message.correlationId !== 0))
                    writer.uint32(8).uint64(message.correlationId);
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(18).string(message.topic);
                if (message.partition != null && $Object.hasOwnProperty.call(message, "partition") && message.partition !== 0)
                    writer.uint32(24).int32(message.partition);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(32).int64(message.offset);
                if (message.timestamp != null && $Object.hasOwnProperty.call(message, "timestamp"))
                    $root.google.protobuf.Timestamp.encode(message.timestamp, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.duplicate != null && $Object.hasOwnProperty.call(message, "duplicate") && message.duplicate !== false)
                    writer.uint32(48).bool(message.duplicate);
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.queue.v1.Error.encode(message.error, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.count != null && $Object.hasOwnProperty.call(message, "count") && message.count !== 0)
                    writer.uint32(64).uint32(message.count);
                if (message.results != null && message.results.length)
                    for (let i = 0; i < message.results.length; ++i)
                        $root.queue.v1.PublishResponse.encode(message.results[i], writer.uint32(74).fork(), _depth + 1).ldelim();
                if (message.delayedId != null && $Object.hasOwnProperty.call(message, "delayedId") && message.delayedId !== "")
                    writer.uint32(82).string(message.delayedId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            PublishResponse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.PublishResponse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.correlationId = value;
                            else
                                delete message.correlationId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.partition = value;
                            else
                                delete message.partition;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.timestamp = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.timestamp);
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.duplicate = value;
                            else
                                delete message.duplicate;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.queue.v1.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.count = value;
                            else
                                delete message.count;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if (!(message.results && message.results.length))
                                message.results = [];
                            message.results.push($root.queue.v1.PublishResponse.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.delayedId = value;
                            else
                                delete message.delayedId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return PublishResponse;
        })();

        v1.ConsumeRequest = (function() {

            const ConsumeRequest = function (properties) {
                this.partitions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ConsumeRequest.prototype.topic = "";
            ConsumeRequest.prototype.partitions = $util.emptyArray;
            ConsumeRequest.prototype.start = 0;
            ConsumeRequest.prototype.offset = 0;
            ConsumeRequest.prototype.timestamp = null;
            ConsumeRequest.prototype.maxInFlight = 0;
            ConsumeRequest.prototype.readUncommitted = false;
            ConsumeRequest.prototype.stopAtEnd = false;

            ConsumeRequest.create = function(properties) {
                return new ConsumeRequest(properties);
            };

            ConsumeRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.partitions != null && message.partitions.length)
                    writer.uint32(18).int32s(message.partitions);
                if (message.start != null && $Object.hasOwnProperty.call(message, "start") && message.start !== 0)
                    writer.uint32(24).int32(message.start);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(32).int64(message.offset);
                if (message.timestamp != null && $Object.hasOwnProperty.call(message, "timestamp"))
                    $root.google.protobuf.Timestamp.encode(message.timestamp, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.maxInFlight != null && $Object.hasOwnProperty.call(message, "maxInFlight") && message.maxInFlight !== 0)
                    writer.uint32(48).int32(message.maxInFlight);
                if (message.readUncommitted != null && $Object.hasOwnProperty.call(message, "readUncommitted") && message.readUncommitted !== false)
                    writer.uint32(56).bool(message.readUncommitted);
                if (message.stopAtEnd != null && $Object.hasOwnProperty.call(message, "stopAtEnd") && message.stopAtEnd !== false)
                    writer.uint32(64).bool(message.stopAtEnd);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ConsumeRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.ConsumeRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType === 2) {
                                if (!(message.partitions && message.partitions.length))
                                    message.partitions = [];
                                reader.int32s(message.partitions);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.partitions && message.partitions.length))
                                message.partitions = [];
                            message.partitions.push(reader.int32());
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.start = value;
                            else
                                delete message.start;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.timestamp = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.timestamp);
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.maxInFlight = value;
                            else
                                delete message.maxInFlight;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.readUncommitted = value;
                            else
                                delete message.readUncommitted;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.stopAtEnd = value;
                            else
                                delete message.stopAtEnd;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ConsumeRequest;
        })();

        v1.Message = (function() {

            const Message = function (properties) {
                this.headers = {};
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Message.prototype.topic = "";
            Message.prototype.partition = 0;
            Message.prototype.offset = 0;
            Message.prototype.timestamp = null;
            Message.prototype.key = $util.newBuffer([]);
            Message.prototype.payload = $util.newBuffer([]);
            Message.prototype.headers = $util.emptyObject;
            Message.prototype.priority = 0;
            Message.prototype.deliveryCount = 0;
            Message.prototype.receipt = $util.newBuffer([]);
            Message.prototype.visibleUntil = null;
            Message.prototype.tombstone = false;
            Message.prototype.heartbeat = false;

            Message.create = function(properties) {
                return new Message(properties);
            };

            Message.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.partition != null && $Object.hasOwnProperty.call(message, "partition") && message.partition !== 0)
                    writer.uint32(16).int32(message.partition);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(24).int64(message.offset);
                if (message.timestamp != null && $Object.hasOwnProperty.call(message, "timestamp"))
                    $root.google.protobuf.Timestamp.encode(message.timestamp, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key.length)
                    writer.uint32(42).bytes(message.key);
                if (message.payload != null && $Object.hasOwnProperty.call(message, "payload") && message.payload.length)
                    writer.uint32(50).bytes(message.payload);
                if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                    for (let keys = $Object.keys(message.headers), i = 0; i < keys.length; ++i)
                        writer.uint32(58).fork().uint32(10).string(keys[i]).uint32(18).string(message.headers[keys[i]]).ldelim();
                if (message.priority != null && $Object.hasOwnProperty.call(message, "priority") && message.priority !== 0)
                    writer.uint32(64).int32(message.priority);
                if (message.deliveryCount != null && $Object.hasOwnProperty.call(message, "deliveryCount") && message.deliveryCount !== 0)
                    writer.uint32(72).int32(message.deliveryCount);
                if (message.receipt != null && $Object.hasOwnProperty.call(message, "receipt") && message.receipt.length)
                    writer.uint32(82).bytes(message.receipt);
                if (message.visibleUntil != null && $Object.hasOwnProperty.call(message, "visibleUntil"))
                    $root.google.protobuf.Timestamp.encode(message.visibleUntil, writer.uint32(90).fork(), _depth + 1).ldelim();
                if (message.tombstone != null && $Object.hasOwnProperty.call(message, "tombstone") && message.tombstone !== false)
                    writer.uint32(96).bool(message.tombstone);
                if (message.heartbeat != null && $Object.hasOwnProperty.call(message, "heartbeat") && message.heartbeat !== false)
                    writer.uint32(120).bool(message.heartbeat);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Message.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, key, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Message();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.partition = value;
                            else
                                delete message.partition;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.timestamp = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.timestamp);
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.key = value;
                            else
                                delete message.key;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.payload = value;
                            else
                                delete message.payload;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if (message.headers === $util.emptyObject)
                                message.headers = {};
                            let end2 = reader.size() + reader.pos;
                            if (end2 > reader.len)
                                throw $RangeError("index out of range");
                            reader.len = end2;
                            key = "";
                            value = "";
                            while (reader.pos < end2) {
                                let tag2 = reader.tag();
                                wireType = tag2 & 7;
                                switch (tag2 >>>= 3) {
                                case 1:
                                    if (wireType !== 2)
                                        break;
                                    key = reader.stringVerify();
                                    continue;
                                case 2:
                                    if (wireType !== 2)
                                        break;
                                    value = reader.stringVerify();
                                    continue;
                                }
                                reader.skipType(wireType, _depth, tag2);
                            }
                            if (reader.pos !== end2)
                                throw $RangeError("index out of range");
                            reader.len = end;
                            if (key === "__proto__")
                                $util.makeProp(message.headers, key);
                            message.headers[key] = value;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.priority = value;
                            else
                                delete message.priority;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.deliveryCount = value;
                            else
                                delete message.deliveryCount;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.receipt = value;
                            else
                                delete message.receipt;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            message.visibleUntil = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.visibleUntil);
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.tombstone = value;
                            else
                                delete message.tombstone;
                            continue;
                        }
                    case 15: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.heartbeat = value;
                            else
                                delete message.heartbeat;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Message;
        })();

        v1.GroupRequest = (function() {

            const GroupRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            GroupRequest.prototype.join = null;
            GroupRequest.prototype.credit = null;
            GroupRequest.prototype.ack = null;
            GroupRequest.prototype.nack = null;
            GroupRequest.prototype.extend = null;
            GroupRequest.prototype.commit = null;
            GroupRequest.prototype.leave = null;
            GroupRequest.prototype.pong = null;
            GroupRequest.prototype.correlationId = 0;

            let $oneOfFields;

            $Object.defineProperty(GroupRequest.prototype, "req", {
                get: $util.oneOfGetter($oneOfFields = ["join", "credit", "ack", "nack", "extend", "commit", "leave", "pong"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            GroupRequest.create = function(properties) {
                return new GroupRequest(properties);
            };

            GroupRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.join != null && $Object.hasOwnProperty.call(message, "join"))
                    $root.queue.v1.Join.encode(message.join, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.credit != null && $Object.hasOwnProperty.call(message, "credit"))
                    $root.queue.v1.Credit.encode(message.credit, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.ack != null && $Object.hasOwnProperty.call(message, "ack"))
                    $root.queue.v1.Ack.encode(message.ack, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.nack != null && $Object.hasOwnProperty.call(message, "nack"))
                    $root.queue.v1.Nack.encode(message.nack, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.extend != null && $Object.hasOwnProperty.call(message, "extend"))
                    $root.queue.v1.Extend.encode(message.extend, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.commit != null && $Object.hasOwnProperty.call(message, "commit"))
                    $root.queue.v1.Commit.encode(message.commit, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.leave != null && $Object.hasOwnProperty.call(message, "leave"))
                    $root.queue.v1.Leave.encode(message.leave, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.pong != null && $Object.hasOwnProperty.call(message, "pong"))
                    $root.queue.v1.Pong.encode(message.pong, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.correlationId != null && $Object.hasOwnProperty.call(message, "correlationId") && (typeof message.correlationId === "object" ? message.correlationId.low || message.correlationId.high : message.correlationId !== 0))
                    writer.uint32(120).uint64(message.correlationId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            GroupRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.GroupRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.join = $root.queue.v1.Join.decode(reader, reader.size(), $undefined, _depth + 1, message.join);
                            message.req = "join";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.credit = $root.queue.v1.Credit.decode(reader, reader.size(), $undefined, _depth + 1, message.credit);
                            message.req = "credit";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.ack = $root.queue.v1.Ack.decode(reader, reader.size(), $undefined, _depth + 1, message.ack);
                            message.req = "ack";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.nack = $root.queue.v1.Nack.decode(reader, reader.size(), $undefined, _depth + 1, message.nack);
                            message.req = "nack";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.extend = $root.queue.v1.Extend.decode(reader, reader.size(), $undefined, _depth + 1, message.extend);
                            message.req = "extend";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.commit = $root.queue.v1.Commit.decode(reader, reader.size(), $undefined, _depth + 1, message.commit);
                            message.req = "commit";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.leave = $root.queue.v1.Leave.decode(reader, reader.size(), $undefined, _depth + 1, message.leave);
                            message.req = "leave";
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.pong = $root.queue.v1.Pong.decode(reader, reader.size(), $undefined, _depth + 1, message.pong);
                            message.req = "pong";
                            continue;
                        }
                    case 15: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.correlationId = value;
                            else
                                delete message.correlationId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GroupRequest;
        })();

        v1.GroupResponse = (function() {

            const GroupResponse = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            GroupResponse.prototype.assignment = null;
            GroupResponse.prototype.revoke = null;
            GroupResponse.prototype.messages = null;
            GroupResponse.prototype.result = null;
            GroupResponse.prototype.ping = null;
            GroupResponse.prototype.error = null;
            GroupResponse.prototype.correlationId = 0;

            let $oneOfFields;

            $Object.defineProperty(GroupResponse.prototype, "res", {
                get: $util.oneOfGetter($oneOfFields = ["assignment", "revoke", "messages", "result", "ping", "error"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            GroupResponse.create = function(properties) {
                return new GroupResponse(properties);
            };

            GroupResponse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.assignment != null && $Object.hasOwnProperty.call(message, "assignment"))
                    $root.queue.v1.Assignment.encode(message.assignment, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.revoke != null && $Object.hasOwnProperty.call(message, "revoke"))
                    $root.queue.v1.Revoke.encode(message.revoke, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.messages != null && $Object.hasOwnProperty.call(message, "messages"))
                    $root.queue.v1.MessageBatch.encode(message.messages, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.result != null && $Object.hasOwnProperty.call(message, "result"))
                    $root.queue.v1.Result.encode(message.result, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.ping != null && $Object.hasOwnProperty.call(message, "ping"))
                    $root.queue.v1.Ping.encode(message.ping, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.queue.v1.Error.encode(message.error, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.correlationId != null && $Object.hasOwnProperty.call(message, "correlationId") && (typeof message.correlationId === "object" ? message.correlationId.low || message.correlationId.high : message.correlationId !== 0))
                    writer.uint32(120).uint64(message.correlationId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            GroupResponse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.GroupResponse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.assignment = $root.queue.v1.Assignment.decode(reader, reader.size(), $undefined, _depth + 1, message.assignment);
                            message.res = "assignment";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.revoke = $root.queue.v1.Revoke.decode(reader, reader.size(), $undefined, _depth + 1, message.revoke);
                            message.res = "revoke";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.messages = $root.queue.v1.MessageBatch.decode(reader, reader.size(), $undefined, _depth + 1, message.messages);
                            message.res = "messages";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.result = $root.queue.v1.Result.decode(reader, reader.size(), $undefined, _depth + 1, message.result);
                            message.res = "result";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.ping = $root.queue.v1.Ping.decode(reader, reader.size(), $undefined, _depth + 1, message.ping);
                            message.res = "ping";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.queue.v1.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            message.res = "error";
                            continue;
                        }
                    case 15: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.correlationId = value;
                            else
                                delete message.correlationId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GroupResponse;
        })();

        v1.Join = (function() {

            const Join = function (properties) {
                this.topics = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Join.prototype.group = "";
            Join.prototype.memberId = "";
            Join.prototype.clientId = "";
            Join.prototype.topics = $util.emptyArray;
            Join.prototype.mode = "";
            Join.prototype.sessionTimeout = null;
            Join.prototype.rebalanceTimeout = null;
            Join.prototype.visibilityTimeout = null;
            Join.prototype.autoOffsetReset = "";
            Join.prototype.autoExtend = false;

            Join.create = function(properties) {
                return new Join(properties);
            };

            Join.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.group != null && $Object.hasOwnProperty.call(message, "group") && message.group !== "")
                    writer.uint32(10).string(message.group);
                if (message.memberId != null && $Object.hasOwnProperty.call(message, "memberId") && message.memberId !== "")
                    writer.uint32(18).string(message.memberId);
                if (message.clientId != null && $Object.hasOwnProperty.call(message, "clientId") && message.clientId !== "")
                    writer.uint32(26).string(message.clientId);
                if (message.topics != null && message.topics.length)
                    for (let i = 0; i < message.topics.length; ++i)
                        writer.uint32(34).string(message.topics[i]);
                if (message.mode != null && $Object.hasOwnProperty.call(message, "mode") && message.mode !== "")
                    writer.uint32(42).string(message.mode);
                if (message.sessionTimeout != null && $Object.hasOwnProperty.call(message, "sessionTimeout"))
                    $root.google.protobuf.Duration.encode(message.sessionTimeout, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.rebalanceTimeout != null && $Object.hasOwnProperty.call(message, "rebalanceTimeout"))
                    $root.google.protobuf.Duration.encode(message.rebalanceTimeout, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.visibilityTimeout != null && $Object.hasOwnProperty.call(message, "visibilityTimeout"))
                    $root.google.protobuf.Duration.encode(message.visibilityTimeout, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.autoOffsetReset != null && $Object.hasOwnProperty.call(message, "autoOffsetReset") && message.autoOffsetReset !== "")
                    writer.uint32(74).string(message.autoOffsetReset);
                if (message.autoExtend != null && $Object.hasOwnProperty.call(message, "autoExtend") && message.autoExtend !== false)
                    writer.uint32(80).bool(message.autoExtend);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Join.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Join();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.group = value;
                            else
                                delete message.group;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.memberId = value;
                            else
                                delete message.memberId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.clientId = value;
                            else
                                delete message.clientId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.topics && message.topics.length))
                                message.topics = [];
                            message.topics.push(reader.stringVerify());
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.mode = value;
                            else
                                delete message.mode;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.sessionTimeout = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.sessionTimeout);
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.rebalanceTimeout = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.rebalanceTimeout);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.visibilityTimeout = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.visibilityTimeout);
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.autoOffsetReset = value;
                            else
                                delete message.autoOffsetReset;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.autoExtend = value;
                            else
                                delete message.autoExtend;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Join;
        })();

        v1.Credit = (function() {

            const Credit = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Credit.prototype.messages = 0;
            Credit.prototype.bytes = 0;

            Credit.create = function(properties) {
                return new Credit(properties);
            };

            Credit.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.messages != null && $Object.hasOwnProperty.call(message, "messages") && message.messages !== 0)
                    writer.uint32(8).int32(message.messages);
                if (message.bytes != null && $Object.hasOwnProperty.call(message, "bytes") && (typeof message.bytes === "object" ? message.bytes.low || message.bytes.high : message.bytes !== 0))
                    writer.uint32(16).int64(message.bytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Credit.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Credit();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.messages = value;
                            else
                                delete message.messages;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.bytes = value;
                            else
                                delete message.bytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Credit;
        })();

        v1.Position = (function() {

            const Position = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Position.prototype.topic = "";
            Position.prototype.partition = 0;
            Position.prototype.offset = 0;

            Position.create = function(properties) {
                return new Position(properties);
            };

            Position.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.partition != null && $Object.hasOwnProperty.call(message, "partition") && message.partition !== 0)
                    writer.uint32(16).int32(message.partition);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(24).int64(message.offset);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Position.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Position();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.partition = value;
                            else
                                delete message.partition;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Position;
        })();

        v1.Ack = (function() {

            const Ack = function (properties) {
                this.receipts = [];
                this.positions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Ack.prototype.receipts = $util.emptyArray;
            Ack.prototype.positions = $util.emptyArray;

            Ack.create = function(properties) {
                return new Ack(properties);
            };

            Ack.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.receipts != null && message.receipts.length)
                    for (let i = 0; i < message.receipts.length; ++i)
                        writer.uint32(10).bytes(message.receipts[i]);
                if (message.positions != null && message.positions.length)
                    for (let i = 0; i < message.positions.length; ++i)
                        $root.queue.v1.Position.encode(message.positions[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Ack.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Ack();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.receipts && message.receipts.length))
                                message.receipts = [];
                            message.receipts.push(reader.bytes());
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.positions && message.positions.length))
                                message.positions = [];
                            message.positions.push($root.queue.v1.Position.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Ack;
        })();

        v1.Nack = (function() {

            const Nack = function (properties) {
                this.receipts = [];
                this.positions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Nack.prototype.receipts = $util.emptyArray;
            Nack.prototype.positions = $util.emptyArray;
            Nack.prototype.requeue = null;
            Nack.prototype.delay = null;
            Nack.prototype.reason = "";
            Nack.prototype.failed = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Nack.prototype, "_requeue", {
                get: $util.oneOfGetter($oneOfFields = ["requeue"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Nack.prototype, "_failed", {
                get: $util.oneOfGetter($oneOfFields = ["failed"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Nack.create = function(properties) {
                return new Nack(properties);
            };

            Nack.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.receipts != null && message.receipts.length)
                    for (let i = 0; i < message.receipts.length; ++i)
                        writer.uint32(10).bytes(message.receipts[i]);
                if (message.positions != null && message.positions.length)
                    for (let i = 0; i < message.positions.length; ++i)
                        $root.queue.v1.Position.encode(message.positions[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.requeue != null && $Object.hasOwnProperty.call(message, "requeue"))
                    writer.uint32(24).bool(message.requeue);
                if (message.delay != null && $Object.hasOwnProperty.call(message, "delay"))
                    $root.google.protobuf.Duration.encode(message.delay, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(42).string(message.reason);
                if (message.failed != null && $Object.hasOwnProperty.call(message, "failed"))
                    writer.uint32(48).bool(message.failed);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Nack.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Nack();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.receipts && message.receipts.length))
                                message.receipts = [];
                            message.receipts.push(reader.bytes());
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.positions && message.positions.length))
                                message.positions = [];
                            message.positions.push($root.queue.v1.Position.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            message.requeue = reader.bool();
                            message._requeue = "requeue";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.delay = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.delay);
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            message.failed = reader.bool();
                            message._failed = "failed";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Nack;
        })();

        v1.Extend = (function() {

            const Extend = function (properties) {
                this.receipts = [];
                this.positions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Extend.prototype.receipts = $util.emptyArray;
            Extend.prototype.positions = $util.emptyArray;
            Extend.prototype.timeout = null;

            Extend.create = function(properties) {
                return new Extend(properties);
            };

            Extend.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.receipts != null && message.receipts.length)
                    for (let i = 0; i < message.receipts.length; ++i)
                        writer.uint32(10).bytes(message.receipts[i]);
                if (message.positions != null && message.positions.length)
                    for (let i = 0; i < message.positions.length; ++i)
                        $root.queue.v1.Position.encode(message.positions[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.timeout != null && $Object.hasOwnProperty.call(message, "timeout"))
                    $root.google.protobuf.Duration.encode(message.timeout, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Extend.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Extend();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.receipts && message.receipts.length))
                                message.receipts = [];
                            message.receipts.push(reader.bytes());
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.positions && message.positions.length))
                                message.positions = [];
                            message.positions.push($root.queue.v1.Position.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.timeout = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.timeout);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Extend;
        })();

        v1.CommitOffset = (function() {

            const CommitOffset = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            CommitOffset.prototype.topic = "";
            CommitOffset.prototype.partition = 0;
            CommitOffset.prototype.offset = 0;
            CommitOffset.prototype.metadata = "";

            CommitOffset.create = function(properties) {
                return new CommitOffset(properties);
            };

            CommitOffset.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.partition != null && $Object.hasOwnProperty.call(message, "partition") && message.partition !== 0)
                    writer.uint32(16).int32(message.partition);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(24).int64(message.offset);
                if (message.metadata != null && $Object.hasOwnProperty.call(message, "metadata") && message.metadata !== "")
                    writer.uint32(34).string(message.metadata);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            CommitOffset.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.CommitOffset();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.partition = value;
                            else
                                delete message.partition;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.metadata = value;
                            else
                                delete message.metadata;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return CommitOffset;
        })();

        v1.Commit = (function() {

            const Commit = function (properties) {
                this.offsets = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Commit.prototype.offsets = $util.emptyArray;

            Commit.create = function(properties) {
                return new Commit(properties);
            };

            Commit.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.offsets != null && message.offsets.length)
                    for (let i = 0; i < message.offsets.length; ++i)
                        $root.queue.v1.CommitOffset.encode(message.offsets[i], writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Commit.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Commit();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.offsets && message.offsets.length))
                                message.offsets = [];
                            message.offsets.push($root.queue.v1.CommitOffset.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Commit;
        })();

        v1.Leave = (function() {

            const Leave = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Leave.create = function(properties) {
                return new Leave(properties);
            };

            Leave.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Leave.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Leave();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Leave;
        })();

        v1.Pong = (function() {

            const Pong = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Pong.prototype.nonce = 0;

            Pong.create = function(properties) {
                return new Pong(properties);
            };

            Pong.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nonce != null && $Object.hasOwnProperty.call(message, "nonce") && (typeof message.nonce === "object" ? message.nonce.low || message.nonce.high : message.nonce !== 0))
                    writer.uint32(8).uint64(message.nonce);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Pong.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Pong();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.nonce = value;
                            else
                                delete message.nonce;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Pong;
        })();

        v1.TopicPartitions = (function() {

            const TopicPartitions = function (properties) {
                this.partitions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            TopicPartitions.prototype.topic = "";
            TopicPartitions.prototype.partitions = $util.emptyArray;

            TopicPartitions.create = function(properties) {
                return new TopicPartitions(properties);
            };

            TopicPartitions.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.topic != null && $Object.hasOwnProperty.call(message, "topic") && message.topic !== "")
                    writer.uint32(10).string(message.topic);
                if (message.partitions != null && message.partitions.length)
                    writer.uint32(18).int32s(message.partitions);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            TopicPartitions.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.TopicPartitions();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.topic = value;
                            else
                                delete message.topic;
                            continue;
                        }
                    case 2: {
                            if (wireType === 2) {
                                if (!(message.partitions && message.partitions.length))
                                    message.partitions = [];
                                reader.int32s(message.partitions);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.partitions && message.partitions.length))
                                message.partitions = [];
                            message.partitions.push(reader.int32());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return TopicPartitions;
        })();

        v1.Assignment = (function() {

            const Assignment = function (properties) {
                this.partitions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Assignment.prototype.group = "";
            Assignment.prototype.memberId = "";
            Assignment.prototype.generation = 0;
            Assignment.prototype.partitions = $util.emptyArray;
            Assignment.prototype.leaderId = "";
            Assignment.prototype.draining = false;
            Assignment.prototype.sessionTimeout = null;

            Assignment.create = function(properties) {
                return new Assignment(properties);
            };

            Assignment.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.group != null && $Object.hasOwnProperty.call(message, "group") && message.group !== "")
                    writer.uint32(10).string(message.group);
                if (message.memberId != null && $Object.hasOwnProperty.call(message, "memberId") && message.memberId !== "")
                    writer.uint32(18).string(message.memberId);
                if (message.generation != null && $Object.hasOwnProperty.call(message, "generation") && message.generation !== 0)
                    writer.uint32(24).int32(message.generation);
                if (message.partitions != null && message.partitions.length)
                    for (let i = 0; i < message.partitions.length; ++i)
                        $root.queue.v1.TopicPartitions.encode(message.partitions[i], writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.leaderId != null && $Object.hasOwnProperty.call(message, "leaderId") && message.leaderId !== "")
                    writer.uint32(42).string(message.leaderId);
                if (message.draining != null && $Object.hasOwnProperty.call(message, "draining") && message.draining !== false)
                    writer.uint32(48).bool(message.draining);
                if (message.sessionTimeout != null && $Object.hasOwnProperty.call(message, "sessionTimeout"))
                    $root.google.protobuf.Duration.encode(message.sessionTimeout, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Assignment.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Assignment();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.group = value;
                            else
                                delete message.group;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.memberId = value;
                            else
                                delete message.memberId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.generation = value;
                            else
                                delete message.generation;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.partitions && message.partitions.length))
                                message.partitions = [];
                            message.partitions.push($root.queue.v1.TopicPartitions.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.leaderId = value;
                            else
                                delete message.leaderId;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.draining = value;
                            else
                                delete message.draining;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.sessionTimeout = $root.google.protobuf.Duration.decode(reader, reader.size(), $undefined, _depth + 1, message.sessionTimeout);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Assignment;
        })();

        v1.Revoke = (function() {

            const Revoke = function (properties) {
                this.partitions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Revoke.prototype.generation = 0;
            Revoke.prototype.partitions = $util.emptyArray;
            Revoke.prototype.deadline = null;

            Revoke.create = function(properties) {
                return new Revoke(properties);
            };

            Revoke.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.generation != null && $Object.hasOwnProperty.call(message, "generation") && message.generation !== 0)
                    writer.uint32(8).int32(message.generation);
                if (message.partitions != null && message.partitions.length)
                    for (let i = 0; i < message.partitions.length; ++i)
                        $root.queue.v1.TopicPartitions.encode(message.partitions[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.deadline != null && $Object.hasOwnProperty.call(message, "deadline"))
                    $root.google.protobuf.Timestamp.encode(message.deadline, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Revoke.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Revoke();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.generation = value;
                            else
                                delete message.generation;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.partitions && message.partitions.length))
                                message.partitions = [];
                            message.partitions.push($root.queue.v1.TopicPartitions.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.deadline = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.deadline);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Revoke;
        })();

        v1.MessageBatch = (function() {

            const MessageBatch = function (properties) {
                this.messages = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            MessageBatch.prototype.messages = $util.emptyArray;

            MessageBatch.create = function(properties) {
                return new MessageBatch(properties);
            };

            MessageBatch.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.messages != null && message.messages.length)
                    for (let i = 0; i < message.messages.length; ++i)
                        $root.queue.v1.Message.encode(message.messages[i], writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            MessageBatch.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.MessageBatch();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.messages && message.messages.length))
                                message.messages = [];
                            message.messages.push($root.queue.v1.Message.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return MessageBatch;
        })();

        v1.Result = (function() {

            const Result = function (properties) {
                this.errors = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Result.prototype.succeeded = 0;
            Result.prototype.errors = $util.emptyArray;

            Result.create = function(properties) {
                return new Result(properties);
            };

            Result.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.succeeded != null && $Object.hasOwnProperty.call(message, "succeeded") && message.succeeded !== 0)
                    writer.uint32(8).uint32(message.succeeded);
                if (message.errors != null && message.errors.length)
                    for (let i = 0; i < message.errors.length; ++i)
                        $root.queue.v1.ItemError.encode(message.errors[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Result.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Result();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.succeeded = value;
                            else
                                delete message.succeeded;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.errors && message.errors.length))
                                message.errors = [];
                            message.errors.push($root.queue.v1.ItemError.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Result;
        })();

        v1.ItemError = (function() {

            const ItemError = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ItemError.prototype.index = 0;
            ItemError.prototype.error = null;

            ItemError.create = function(properties) {
                return new ItemError(properties);
            };

            ItemError.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.index != null && $Object.hasOwnProperty.call(message, "index") && message.index !== 0)
                    writer.uint32(8).uint32(message.index);
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.queue.v1.Error.encode(message.error, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ItemError.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.ItemError();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.index = value;
                            else
                                delete message.index;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.queue.v1.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ItemError;
        })();

        v1.Ping = (function() {

            const Ping = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Ping.prototype.nonce = 0;
            Ping.prototype.timestamp = null;

            Ping.create = function(properties) {
                return new Ping(properties);
            };

            Ping.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nonce != null && $Object.hasOwnProperty.call(message, "nonce") && (typeof message.nonce === "object" ? message.nonce.low || message.nonce.high : message.nonce !== 0))
                    writer.uint32(8).uint64(message.nonce);
                if (message.timestamp != null && $Object.hasOwnProperty.call(message, "timestamp"))
                    $root.google.protobuf.Timestamp.encode(message.timestamp, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Ping.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.queue.v1.Ping();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readUint53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.nonce = value;
                            else
                                delete message.nonce;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.timestamp = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.timestamp);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Ping;
        })();

        return v1;
    })();

    return queue;
})();

export const google = $root.google = (() => {

    const google = {};

    google.protobuf = (function() {

        const protobuf = {};

        protobuf.Duration = (function() {

            const Duration = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Duration.prototype.seconds = 0;
            Duration.prototype.nanos = 0;

            Duration.create = function(properties) {
                return new Duration(properties);
            };

            Duration.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.seconds != null && $Object.hasOwnProperty.call(message, "seconds") && (typeof message.seconds === "object" ? message.seconds.low || message.seconds.high : message.seconds !== 0))
                    writer.uint32(8).int64(message.seconds);
                if (message.nanos != null && $Object.hasOwnProperty.call(message, "nanos") && message.nanos !== 0)
                    writer.uint32(16).int32(message.nanos);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Duration.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.google.protobuf.Duration();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.seconds = value;
                            else
                                delete message.seconds;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.nanos = value;
                            else
                                delete message.nanos;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Duration;
        })();

        protobuf.Timestamp = (function() {

            const Timestamp = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Timestamp.prototype.seconds = 0;
            Timestamp.prototype.nanos = 0;

            Timestamp.create = function(properties) {
                return new Timestamp(properties);
            };

            Timestamp.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.seconds != null && $Object.hasOwnProperty.call(message, "seconds") && (typeof message.seconds === "object" ? message.seconds.low || message.seconds.high : message.seconds !== 0))
                    writer.uint32(8).int64(message.seconds);
                if (message.nanos != null && $Object.hasOwnProperty.call(message, "nanos") && message.nanos !== 0)
                    writer.uint32(16).int32(message.nanos);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Timestamp.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.google.protobuf.Timestamp();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = readInt53(reader)) === "object" ? value.low || value.high : value !== 0)
                                message.seconds = value;
                            else
                                delete message.seconds;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.nanos = value;
                            else
                                delete message.nanos;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Timestamp;
        })();

        return protobuf;
    })();

    return google;
})();

export {
  $root as default
};
