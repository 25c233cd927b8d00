import * as $protobuf from "protobufjs/minimal.js";

/** Namespace queue. */
export namespace queue {

    /** Namespace v1. */
    namespace v1 {

        /** Priority enum. */
        enum Priority {

            /** PRIORITY_UNSPECIFIED value */
            PRIORITY_UNSPECIFIED = 0,

            /** PRIORITY_CRITICAL value */
            PRIORITY_CRITICAL = 1,

            /** PRIORITY_HIGH value */
            PRIORITY_HIGH = 2,

            /** PRIORITY_NORMAL value */
            PRIORITY_NORMAL = 3,

            /** PRIORITY_LOW value */
            PRIORITY_LOW = 4,

            /** PRIORITY_BACKGROUND value */
            PRIORITY_BACKGROUND = 5
        }

        /** Acks enum. */
        enum Acks {

            /** ACKS_UNSPECIFIED value */
            ACKS_UNSPECIFIED = 0,

            /** ACKS_ALL value */
            ACKS_ALL = 1,

            /** ACKS_LEADER value */
            ACKS_LEADER = 2,

            /** ACKS_NONE value */
            ACKS_NONE = 3
        }

        /** Start enum. */
        enum Start {

            /** START_UNSPECIFIED value */
            START_UNSPECIFIED = 0,

            /** START_EARLIEST value */
            START_EARLIEST = 1,

            /** START_LATEST value */
            START_LATEST = 2,

            /** START_OFFSET value */
            START_OFFSET = 3,

            /** START_TIMESTAMP value */
            START_TIMESTAMP = 4
        }

        /** ErrorCode enum. */
        enum ErrorCode {

            /** ERROR_CODE_UNSPECIFIED value */
            ERROR_CODE_UNSPECIFIED = 0,

            /** ERROR_CODE_TOPIC_NOT_FOUND value */
            ERROR_CODE_TOPIC_NOT_FOUND = 100,

            /** ERROR_CODE_TOPIC_ALREADY_EXISTS value */
            ERROR_CODE_TOPIC_ALREADY_EXISTS = 101,

            /** ERROR_CODE_PARTITION_NOT_FOUND value */
            ERROR_CODE_PARTITION_NOT_FOUND = 102,

            /** ERROR_CODE_INVALID_PARTITION value */
            ERROR_CODE_INVALID_PARTITION = 103,

            /** ERROR_CODE_INVALID_TOPIC_NAME value */
            ERROR_CODE_INVALID_TOPIC_NAME = 104,

            /** ERROR_CODE_PARTITION_DECREASE_NOT_ALLOWED value */
            ERROR_CODE_PARTITION_DECREASE_NOT_ALLOWED = 105,

            /** ERROR_CODE_GROUP_NOT_FOUND value */
            ERROR_CODE_GROUP_NOT_FOUND = 200,

            /** ERROR_CODE_MEMBER_NOT_FOUND value */
            ERROR_CODE_MEMBER_NOT_FOUND = 201,

            /** ERROR_CODE_REBALANCE_IN_PROGRESS value */
            ERROR_CODE_REBALANCE_IN_PROGRESS = 202,

            /** ERROR_CODE_STALE_GENERATION value */
            ERROR_CODE_STALE_GENERATION = 203,

            /** ERROR_CODE_SESSION_TIMEOUT value */
            ERROR_CODE_SESSION_TIMEOUT = 204,

            /** ERROR_CODE_NOT_ASSIGNED value */
            ERROR_CODE_NOT_ASSIGNED = 205,

            /** ERROR_CODE_GROUP_NOT_EMPTY value */
            ERROR_CODE_GROUP_NOT_EMPTY = 206,

            /** ERROR_CODE_AMBIGUOUS_GROUP value */
            ERROR_CODE_AMBIGUOUS_GROUP = 207,

            /** ERROR_CODE_MESSAGE_TOO_LARGE value */
            ERROR_CODE_MESSAGE_TOO_LARGE = 300,

            /** ERROR_CODE_INVALID_MESSAGE value */
            ERROR_CODE_INVALID_MESSAGE = 301,

            /** ERROR_CODE_INVALID_RECEIPT_HANDLE value */
            ERROR_CODE_INVALID_RECEIPT_HANDLE = 302,

            /** ERROR_CODE_RECEIPT_HANDLE_EXPIRED value */
            ERROR_CODE_RECEIPT_HANDLE_EXPIRED = 303,

            /** ERROR_CODE_MESSAGE_NOT_FOUND value */
            ERROR_CODE_MESSAGE_NOT_FOUND = 304,

            /** ERROR_CODE_BATCH_TOO_LARGE value */
            ERROR_CODE_BATCH_TOO_LARGE = 305,

            /** ERROR_CODE_INVALID_OFFSET value */
            ERROR_CODE_INVALID_OFFSET = 306,

            /** ERROR_CODE_OFFSET_OUT_OF_RANGE value */
            ERROR_CODE_OFFSET_OUT_OF_RANGE = 307,

            /** ERROR_CODE_INVALID_PRIORITY value */
            ERROR_CODE_INVALID_PRIORITY = 308,

            /** ERROR_CODE_INVALID_DELAY value */
            ERROR_CODE_INVALID_DELAY = 309,

            /** ERROR_CODE_DELAYED_MESSAGE_NOT_FOUND value */
            ERROR_CODE_DELAYED_MESSAGE_NOT_FOUND = 310,

            /** ERROR_CODE_TRANSACTION_NOT_FOUND value */
            ERROR_CODE_TRANSACTION_NOT_FOUND = 400,

            /** ERROR_CODE_TRANSACTION_TIMED_OUT value */
            ERROR_CODE_TRANSACTION_TIMED_OUT = 401,

            /** ERROR_CODE_PRODUCER_FENCED value */
            ERROR_CODE_PRODUCER_FENCED = 402,

            /** ERROR_CODE_INVALID_TRANSACTION_STATE value */
            ERROR_CODE_INVALID_TRANSACTION_STATE = 403,

            /** ERROR_CODE_PRODUCER_NOT_FOUND value */
            ERROR_CODE_PRODUCER_NOT_FOUND = 404,

            /** ERROR_CODE_OUT_OF_ORDER_SEQUENCE value */
            ERROR_CODE_OUT_OF_ORDER_SEQUENCE = 405,

            /** ERROR_CODE_TRANSACTION_IN_PROGRESS value */
            ERROR_CODE_TRANSACTION_IN_PROGRESS = 406,

            /** ERROR_CODE_NOT_LEADER value */
            ERROR_CODE_NOT_LEADER = 500,

            /** ERROR_CODE_LEADER_NOT_AVAILABLE value */
            ERROR_CODE_LEADER_NOT_AVAILABLE = 501,

            /** ERROR_CODE_NOT_READY value */
            ERROR_CODE_NOT_READY = 502,

            /** ERROR_CODE_NOT_ENOUGH_REPLICAS value */
            ERROR_CODE_NOT_ENOUGH_REPLICAS = 503,

            /** ERROR_CODE_SHUTTING_DOWN value */
            ERROR_CODE_SHUTTING_DOWN = 504,

            /** ERROR_CODE_DISK_FULL value */
            ERROR_CODE_DISK_FULL = 505,

            /** ERROR_CODE_TIMEOUT value */
            ERROR_CODE_TIMEOUT = 506,

            /** ERROR_CODE_UNAUTHENTICATED value */
            ERROR_CODE_UNAUTHENTICATED = 600,

            /** ERROR_CODE_API_KEY_INVALID value */
            ERROR_CODE_API_KEY_INVALID = 601,

            /** ERROR_CODE_API_KEY_EXPIRED value */
            ERROR_CODE_API_KEY_EXPIRED = 602,

            /** ERROR_CODE_API_KEY_REVOKED value */
            ERROR_CODE_API_KEY_REVOKED = 603,

            /** ERROR_CODE_TOKEN_INVALID value */
            ERROR_CODE_TOKEN_INVALID = 604,

            /** ERROR_CODE_TOKEN_EXPIRED value */
            ERROR_CODE_TOKEN_EXPIRED = 605,

            /** ERROR_CODE_FORBIDDEN value */
            ERROR_CODE_FORBIDDEN = 606,

            /** ERROR_CODE_ACL_DENIED value */
            ERROR_CODE_ACL_DENIED = 607,

            /** ERROR_CODE_KEY_NOT_FOUND value */
            ERROR_CODE_KEY_NOT_FOUND = 608,

            /** ERROR_CODE_ACL_NOT_FOUND value */
            ERROR_CODE_ACL_NOT_FOUND = 609,

            /** ERROR_CODE_SCHEMA_INCOMPATIBLE value */
            ERROR_CODE_SCHEMA_INCOMPATIBLE = 700,

            /** ERROR_CODE_SCHEMA_VALIDATION_FAILED value */
            ERROR_CODE_SCHEMA_VALIDATION_FAILED = 701,

            /** ERROR_CODE_UNSUPPORTED_SCHEMA_TYPE value */
            ERROR_CODE_UNSUPPORTED_SCHEMA_TYPE = 702,

            /** ERROR_CODE_RATE_LIMITED value */
            ERROR_CODE_RATE_LIMITED = 800,

            /** ERROR_CODE_INTERNAL value */
            ERROR_CODE_INTERNAL = 900,

            /** ERROR_CODE_INVALID_ARGUMENT value */
            ERROR_CODE_INVALID_ARGUMENT = 901,

            /** ERROR_CODE_NOT_FOUND value */
            ERROR_CODE_NOT_FOUND = 902,

            /** ERROR_CODE_INVALID_JSON value */
            ERROR_CODE_INVALID_JSON = 903,

            /** ERROR_CODE_UNSUPPORTED_MEDIA_TYPE value */
            ERROR_CODE_UNSUPPORTED_MEDIA_TYPE = 904
        }

        /**
         * Properties of an Error.
         * @deprecated Use queue.v1.Error.$Properties instead.
         */
        interface IError extends queue.v1.Error.$Properties {
        }

        /** Represents an Error. */
        class Error {

            /**
             * Constructs a new Error.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Error.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Error code. */
            code: queue.v1.ErrorCode;

            /** Error reason. */
            reason: string;

            /** Error message. */
            message: string;

            /** Error details. */
            details: { [k: string]: string };

            /** Error retryAfter. */
            retryAfter?: (google.protobuf.Duration.$Properties|null);

            /**
             * Creates a new Error instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Error instance
             */
            static create(properties: queue.v1.Error.$Shape): queue.v1.Error & queue.v1.Error.$Shape;
            static create(properties?: queue.v1.Error.$Properties): queue.v1.Error;

            /**
             * Encodes the specified Error message. Does not implicitly {@link queue.v1.Error.verify|verify} messages.
             * @param message Error message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Error.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Error message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Error & queue.v1.Error.$Shape} Error
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Error & queue.v1.Error.$Shape;
        }

        namespace Error {

            /** Properties of an Error. */
            interface $Properties {

                /** Error code */
                code?: (queue.v1.ErrorCode|null);

                /** Error reason */
                reason?: (string|null);

                /** Error message */
                message?: (string|null);

                /** Error details */
                details?: ({ [k: string]: string }|null);

                /** Error retryAfter */
                retryAfter?: (google.protobuf.Duration.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Error. */
            type $Shape = queue.v1.Error.$Properties;
        }

        /**
         * Properties of a PublishRequest.
         * @deprecated Use queue.v1.PublishRequest.$Properties instead.
         */
        interface IPublishRequest extends queue.v1.PublishRequest.$Properties {
        }

        /** Represents a PublishRequest. */
        class PublishRequest {

            /**
             * Constructs a new PublishRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.PublishRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** PublishRequest topic. */
            topic: string;

            /** PublishRequest payload. */
            payload: Uint8Array;

            /** PublishRequest key. */
            key: Uint8Array;

            /** PublishRequest headers. */
            headers: { [k: string]: string };

            /** PublishRequest partition. */
            partition?: (number|null);

            /** PublishRequest priority. */
            priority: queue.v1.Priority;

            /** PublishRequest delay. */
            delay?: (google.protobuf.Duration.$Properties|null);

            /** PublishRequest deliverAt. */
            deliverAt?: (google.protobuf.Timestamp.$Properties|null);

            /** PublishRequest acks. */
            acks: queue.v1.Acks;

            /** PublishRequest correlationId. */
            correlationId: number;

            /** PublishRequest producerId. */
            producerId: number;

            /** PublishRequest producerEpoch. */
            producerEpoch: number;

            /** PublishRequest sequence. */
            sequence: number;

            /** PublishRequest idempotencyKey. */
            idempotencyKey: string;

            /** PublishRequest transactionId. */
            transactionId: string;

            /** PublishRequest batch. */
            batch: queue.v1.PublishRequest.$Properties[];

            /**
             * Creates a new PublishRequest instance using the specified properties.
             * @param [properties] Properties to set
             * @returns PublishRequest instance
             */
            static create(properties: queue.v1.PublishRequest.$Shape): queue.v1.PublishRequest & queue.v1.PublishRequest.$Shape;
            static create(properties?: queue.v1.PublishRequest.$Properties): queue.v1.PublishRequest;

            /**
             * Encodes the specified PublishRequest message. Does not implicitly {@link queue.v1.PublishRequest.verify|verify} messages.
             * @param message PublishRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.PublishRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a PublishRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.PublishRequest & queue.v1.PublishRequest.$Shape} PublishRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.PublishRequest & queue.v1.PublishRequest.$Shape;
        }

        namespace PublishRequest {

            /** Properties of a PublishRequest. */
            interface $Properties {

                /** PublishRequest topic */
                topic?: (string|null);

                /** PublishRequest payload */
                payload?: (Uint8Array|null);

                /** PublishRequest key */
                key?: (Uint8Array|null);

                /** PublishRequest headers */
                headers?: ({ [k: string]: string }|null);

                /** PublishRequest partition */
                partition?: (number|null);

                /** PublishRequest priority */
                priority?: (queue.v1.Priority|null);

                /** PublishRequest delay */
                delay?: (google.protobuf.Duration.$Properties|null);

                /** PublishRequest deliverAt */
                deliverAt?: (google.protobuf.Timestamp.$Properties|null);

                /** PublishRequest acks */
                acks?: (queue.v1.Acks|null);

                /** PublishRequest correlationId */
                correlationId?: (number|null);

                /** PublishRequest producerId */
                producerId?: (number|null);

                /** PublishRequest producerEpoch */
                producerEpoch?: (number|null);

                /** PublishRequest sequence */
                sequence?: (number|null);

                /** PublishRequest idempotencyKey */
                idempotencyKey?: (string|null);

                /** PublishRequest transactionId */
                transactionId?: (string|null);

                /** PublishRequest batch */
                batch?: (queue.v1.PublishRequest.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a PublishRequest. */
            type $Shape = queue.v1.PublishRequest.$Properties;
        }

        /**
         * Properties of a PublishResponse.
         * @deprecated Use queue.v1.PublishResponse.$Properties instead.
         */
        interface IPublishResponse extends queue.v1.PublishResponse.$Properties {
        }

        /** Represents a PublishResponse. */
        class PublishResponse {

            /**
             * Constructs a new PublishResponse.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.PublishResponse.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** PublishResponse correlationId. */
            correlationId: number;

            /** PublishResponse topic. */
            topic: string;

            /** PublishResponse partition. */
            partition: number;

            /** PublishResponse offset. */
            offset: number;

            /** PublishResponse timestamp. */
            timestamp?: (google.protobuf.Timestamp.$Properties|null);

            /** PublishResponse duplicate. */
            duplicate: boolean;

            /** PublishResponse error. */
            error?: (queue.v1.Error.$Properties|null);

            /** PublishResponse count. */
            count: number;

            /** PublishResponse results. */
            results: queue.v1.PublishResponse.$Properties[];

            /** PublishResponse delayedId. */
            delayedId: string;

            /**
             * Creates a new PublishResponse instance using the specified properties.
             * @param [properties] Properties to set
             * @returns PublishResponse instance
             */
            static create(properties: queue.v1.PublishResponse.$Shape): queue.v1.PublishResponse & queue.v1.PublishResponse.$Shape;
            static create(properties?: queue.v1.PublishResponse.$Properties): queue.v1.PublishResponse;

            /**
             * Encodes the specified PublishResponse message. Does not implicitly {@link queue.v1.PublishResponse.verify|verify} messages.
             * @param message PublishResponse message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.PublishResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a PublishResponse message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.PublishResponse & queue.v1.PublishResponse.$Shape} PublishResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.PublishResponse & queue.v1.PublishResponse.$Shape;
        }

        namespace PublishResponse {

            /** Properties of a PublishResponse. */
            interface $Properties {

                /** PublishResponse correlationId */
                correlationId?: (number|null);

                /** PublishResponse topic */
                topic?: (string|null);

                /** PublishResponse partition */
                partition?: (number|null);

                /** PublishResponse offset */
                offset?: (number|null);

                /** PublishResponse timestamp */
                timestamp?: (google.protobuf.Timestamp.$Properties|null);

                /** PublishResponse duplicate */
                duplicate?: (boolean|null);

                /** PublishResponse error */
                error?: (queue.v1.Error.$Properties|null);

                /** PublishResponse count */
                count?: (number|null);

                /** PublishResponse results */
                results?: (queue.v1.PublishResponse.$Properties[]|null);

                /** PublishResponse delayedId */
                delayedId?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a PublishResponse. */
            type $Shape = queue.v1.PublishResponse.$Properties;
        }

        /**
         * Properties of a ConsumeRequest.
         * @deprecated Use queue.v1.ConsumeRequest.$Properties instead.
         */
        interface IConsumeRequest extends queue.v1.ConsumeRequest.$Properties {
        }

        /** Represents a ConsumeRequest. */
        class ConsumeRequest {

            /**
             * Constructs a new ConsumeRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.ConsumeRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ConsumeRequest topic. */
            topic: string;

            /** ConsumeRequest partitions. */
            partitions: number[];

            /** ConsumeRequest start. */
            start: queue.v1.Start;

            /** ConsumeRequest offset. */
            offset: number;

            /** ConsumeRequest timestamp. */
            timestamp?: (google.protobuf.Timestamp.$Properties|null);

            /** ConsumeRequest maxInFlight. */
            maxInFlight: number;

            /** ConsumeRequest readUncommitted. */
            readUncommitted: boolean;

            /** ConsumeRequest stopAtEnd. */
            stopAtEnd: boolean;

            /**
             * Creates a new ConsumeRequest instance using the specified properties.
             * @param [properties] Properties to set
             * @returns ConsumeRequest instance
             */
            static create(properties: queue.v1.ConsumeRequest.$Shape): queue.v1.ConsumeRequest & queue.v1.ConsumeRequest.$Shape;
            static create(properties?: queue.v1.ConsumeRequest.$Properties): queue.v1.ConsumeRequest;

            /**
             * Encodes the specified ConsumeRequest message. Does not implicitly {@link queue.v1.ConsumeRequest.verify|verify} messages.
             * @param message ConsumeRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.ConsumeRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a ConsumeRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.ConsumeRequest & queue.v1.ConsumeRequest.$Shape} ConsumeRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.ConsumeRequest & queue.v1.ConsumeRequest.$Shape;
        }

        namespace ConsumeRequest {

            /** Properties of a ConsumeRequest. */
            interface $Properties {

                /** ConsumeRequest topic */
                topic?: (string|null);

                /** ConsumeRequest partitions */
                partitions?: (number[]|null);

                /** ConsumeRequest start */
                start?: (queue.v1.Start|null);

                /** ConsumeRequest offset */
                offset?: (number|null);

                /** ConsumeRequest timestamp */
                timestamp?: (google.protobuf.Timestamp.$Properties|null);

                /** ConsumeRequest maxInFlight */
                maxInFlight?: (number|null);

                /** ConsumeRequest readUncommitted */
                readUncommitted?: (boolean|null);

                /** ConsumeRequest stopAtEnd */
                stopAtEnd?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a ConsumeRequest. */
            type $Shape = queue.v1.ConsumeRequest.$Properties;
        }

        /**
         * Properties of a Message.
         * @deprecated Use queue.v1.Message.$Properties instead.
         */
        interface IMessage extends queue.v1.Message.$Properties {
        }

        /** Represents a Message. */
        class Message {

            /**
             * Constructs a new Message.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Message.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Message topic. */
            topic: string;

            /** Message partition. */
            partition: number;

            /** Message offset. */
            offset: number;

            /** Message timestamp. */
            timestamp?: (google.protobuf.Timestamp.$Properties|null);

            /** Message key. */
            key: Uint8Array;

            /** Message payload. */
            payload: Uint8Array;

            /** Message headers. */
            headers: { [k: string]: string };

            /** Message priority. */
            priority: queue.v1.Priority;

            /** Message deliveryCount. */
            deliveryCount: number;

            /** Message receipt. */
            receipt: Uint8Array;

            /** Message visibleUntil. */
            visibleUntil?: (google.protobuf.Timestamp.$Properties|null);

            /** Message tombstone. */
            tombstone: boolean;

            /** Message heartbeat. */
            heartbeat: boolean;

            /**
             * Creates a new Message instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Message instance
             */
            static create(properties: queue.v1.Message.$Shape): queue.v1.Message & queue.v1.Message.$Shape;
            static create(properties?: queue.v1.Message.$Properties): queue.v1.Message;

            /**
             * Encodes the specified Message message. Does not implicitly {@link queue.v1.Message.verify|verify} messages.
             * @param message Message message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Message.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Message message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Message & queue.v1.Message.$Shape} Message
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Message & queue.v1.Message.$Shape;
        }

        namespace Message {

            /** Properties of a Message. */
            interface $Properties {

                /** Message topic */
                topic?: (string|null);

                /** Message partition */
                partition?: (number|null);

                /** Message offset */
                offset?: (number|null);

                /** Message timestamp */
                timestamp?: (google.protobuf.Timestamp.$Properties|null);

                /** Message key */
                key?: (Uint8Array|null);

                /** Message payload */
                payload?: (Uint8Array|null);

                /** Message headers */
                headers?: ({ [k: string]: string }|null);

                /** Message priority */
                priority?: (queue.v1.Priority|null);

                /** Message deliveryCount */
                deliveryCount?: (number|null);

                /** Message receipt */
                receipt?: (Uint8Array|null);

                /** Message visibleUntil */
                visibleUntil?: (google.protobuf.Timestamp.$Properties|null);

                /** Message tombstone */
                tombstone?: (boolean|null);

                /** Message heartbeat */
                heartbeat?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Message. */
            type $Shape = queue.v1.Message.$Properties;
        }

        /**
         * Properties of a GroupRequest.
         * @deprecated Use queue.v1.GroupRequest.$Properties instead.
         */
        interface IGroupRequest extends queue.v1.GroupRequest.$Properties {
        }

        /** Represents a GroupRequest. */
        class GroupRequest {

            /**
             * Constructs a new GroupRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.GroupRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GroupRequest join. */
            join?: (queue.v1.Join.$Properties|null);

            /** GroupRequest credit. */
            credit?: (queue.v1.Credit.$Properties|null);

            /** GroupRequest ack. */
            ack?: (queue.v1.Ack.$Properties|null);

            /** GroupRequest nack. */
            nack?: (queue.v1.Nack.$Properties|null);

            /** GroupRequest extend. */
            extend?: (queue.v1.Extend.$Properties|null);

            /** GroupRequest commit. */
            commit?: (queue.v1.Commit.$Properties|null);

            /** GroupRequest leave. */
            leave?: (queue.v1.Leave.$Properties|null);

            /** GroupRequest pong. */
            pong?: (queue.v1.Pong.$Properties|null);

            /** GroupRequest correlationId. */
            correlationId: number;

            /** GroupRequest req. */
            req?: ("join"|"credit"|"ack"|"nack"|"extend"|"commit"|"leave"|"pong");

            /**
             * Creates a new GroupRequest instance using the specified properties.
             * @param [properties] Properties to set
             * @returns GroupRequest instance
             */
            static create(properties: queue.v1.GroupRequest.$Shape): queue.v1.GroupRequest & queue.v1.GroupRequest.$Shape;
            static create(properties?: queue.v1.GroupRequest.$Properties): queue.v1.GroupRequest;

            /**
             * Encodes the specified GroupRequest message. Does not implicitly {@link queue.v1.GroupRequest.verify|verify} messages.
             * @param message GroupRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.GroupRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GroupRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.GroupRequest & queue.v1.GroupRequest.$Shape} GroupRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.GroupRequest & queue.v1.GroupRequest.$Shape;
        }

        namespace GroupRequest {

            /** Properties of a GroupRequest. */
            interface $Properties {

                /** GroupRequest join */
                join?: (queue.v1.Join.$Properties|null);

                /** GroupRequest credit */
                credit?: (queue.v1.Credit.$Properties|null);

                /** GroupRequest ack */
                ack?: (queue.v1.Ack.$Properties|null);

                /** GroupRequest nack */
                nack?: (queue.v1.Nack.$Properties|null);

                /** GroupRequest extend */
                extend?: (queue.v1.Extend.$Properties|null);

                /** GroupRequest commit */
                commit?: (queue.v1.Commit.$Properties|null);

                /** GroupRequest leave */
                leave?: (queue.v1.Leave.$Properties|null);

                /** GroupRequest pong */
                pong?: (queue.v1.Pong.$Properties|null);

                /** GroupRequest correlationId */
                correlationId?: (number|null);

                /** GroupRequest req */
                req?: ("join"|"credit"|"ack"|"nack"|"extend"|"commit"|"leave"|"pong");

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Narrowed shape of a GroupRequest. */
            type $Shape = {
              join?: queue.v1.Join.$Shape|null;
              credit?: queue.v1.Credit.$Shape|null;
              ack?: queue.v1.Ack.$Shape|null;
              nack?: queue.v1.Nack.$Shape|null;
              extend?: queue.v1.Extend.$Shape|null;
              commit?: queue.v1.Commit.$Shape|null;
              leave?: queue.v1.Leave.$Shape|null;
              pong?: queue.v1.Pong.$Shape|null;
              correlationId?: number|null;
              $unknowns?: Uint8Array[];
            } & (
              ({ req?: undefined; join?: null; credit?: null; ack?: null; nack?: null; extend?: null; commit?: null; leave?: null; pong?: null }|{ req?: "join"; join: queue.v1.Join.$Shape; credit?: null; ack?: null; nack?: null; extend?: null; commit?: null; leave?: null; pong?: null }|{ req?: "credit"; join?: null; credit: queue.v1.Credit.$Shape; ack?: null; nack?: null; extend?: null; commit?: null; leave?: null; pong?: null }|{ req?: "ack"; join?: null; credit?: null; ack: queue.v1.Ack.$Shape; nack?: null; extend?: null; commit?: null; leave?: null; pong?: null }|{ req?: "nack"; join?: null; credit?: null; ack?: null; nack: queue.v1.Nack.$Shape; extend?: null; commit?: null; leave?: null; pong?: null }|{ req?: "extend"; join?: null; credit?: null; ack?: null; nack?: null; extend: queue.v1.Extend.$Shape; commit?: null; leave?: null; pong?: null }|{ req?: "commit"; join?: null; credit?: null; ack?: null; nack?: null; extend?: null; commit: queue.v1.Commit.$Shape; leave?: null; pong?: null }|{ req?: "leave"; join?: null; credit?: null; ack?: null; nack?: null; extend?: null; commit?: null; leave: queue.v1.Leave.$Shape; pong?: null }|{ req?: "pong"; join?: null; credit?: null; ack?: null; nack?: null; extend?: null; commit?: null; leave?: null; pong: queue.v1.Pong.$Shape })
            );
        }

        /**
         * Properties of a GroupResponse.
         * @deprecated Use queue.v1.GroupResponse.$Properties instead.
         */
        interface IGroupResponse extends queue.v1.GroupResponse.$Properties {
        }

        /** Represents a GroupResponse. */
        class GroupResponse {

            /**
             * Constructs a new GroupResponse.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.GroupResponse.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** GroupResponse assignment. */
            assignment?: (queue.v1.Assignment.$Properties|null);

            /** GroupResponse revoke. */
            revoke?: (queue.v1.Revoke.$Properties|null);

            /** GroupResponse messages. */
            messages?: (queue.v1.MessageBatch.$Properties|null);

            /** GroupResponse result. */
            result?: (queue.v1.Result.$Properties|null);

            /** GroupResponse ping. */
            ping?: (queue.v1.Ping.$Properties|null);

            /** GroupResponse error. */
            error?: (queue.v1.Error.$Properties|null);

            /** GroupResponse correlationId. */
            correlationId: number;

            /** GroupResponse res. */
            res?: ("assignment"|"revoke"|"messages"|"result"|"ping"|"error");

            /**
             * Creates a new GroupResponse instance using the specified properties.
             * @param [properties] Properties to set
             * @returns GroupResponse instance
             */
            static create(properties: queue.v1.GroupResponse.$Shape): queue.v1.GroupResponse & queue.v1.GroupResponse.$Shape;
            static create(properties?: queue.v1.GroupResponse.$Properties): queue.v1.GroupResponse;

            /**
             * Encodes the specified GroupResponse message. Does not implicitly {@link queue.v1.GroupResponse.verify|verify} messages.
             * @param message GroupResponse message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.GroupResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a GroupResponse message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.GroupResponse & queue.v1.GroupResponse.$Shape} GroupResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.GroupResponse & queue.v1.GroupResponse.$Shape;
        }

        namespace GroupResponse {

            /** Properties of a GroupResponse. */
            interface $Properties {

                /** GroupResponse assignment */
                assignment?: (queue.v1.Assignment.$Properties|null);

                /** GroupResponse revoke */
                revoke?: (queue.v1.Revoke.$Properties|null);

                /** GroupResponse messages */
                messages?: (queue.v1.MessageBatch.$Properties|null);

                /** GroupResponse result */
                result?: (queue.v1.Result.$Properties|null);

                /** GroupResponse ping */
                ping?: (queue.v1.Ping.$Properties|null);

                /** GroupResponse error */
                error?: (queue.v1.Error.$Properties|null);

                /** GroupResponse correlationId */
                correlationId?: (number|null);

                /** GroupResponse res */
                res?: ("assignment"|"revoke"|"messages"|"result"|"ping"|"error");

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Narrowed shape of a GroupResponse. */
            type $Shape = {
              assignment?: queue.v1.Assignment.$Shape|null;
              revoke?: queue.v1.Revoke.$Shape|null;
              messages?: queue.v1.MessageBatch.$Shape|null;
              result?: queue.v1.Result.$Shape|null;
              ping?: queue.v1.Ping.$Shape|null;
              error?: queue.v1.Error.$Shape|null;
              correlationId?: number|null;
              $unknowns?: Uint8Array[];
            } & (
              ({ res?: undefined; assignment?: null; revoke?: null; messages?: null; result?: null; ping?: null; error?: null }|{ res?: "assignment"; assignment: queue.v1.Assignment.$Shape; revoke?: null; messages?: null; result?: null; ping?: null; error?: null }|{ res?: "revoke"; assignment?: null; revoke: queue.v1.Revoke.$Shape; messages?: null; result?: null; ping?: null; error?: null }|{ res?: "messages"; assignment?: null; revoke?: null; messages: queue.v1.MessageBatch.$Shape; result?: null; ping?: null; error?: null }|{ res?: "result"; assignment?: null; revoke?: null; messages?: null; result: queue.v1.Result.$Shape; ping?: null; error?: null }|{ res?: "ping"; assignment?: null; revoke?: null; messages?: null; result?: null; ping: queue.v1.Ping.$Shape; error?: null }|{ res?: "error"; assignment?: null; revoke?: null; messages?: null; result?: null; ping?: null; error: queue.v1.Error.$Shape })
            );
        }

        /**
         * Properties of a Join.
         * @deprecated Use queue.v1.Join.$Properties instead.
         */
        interface IJoin extends queue.v1.Join.$Properties {
        }

        /** Represents a Join. */
        class Join {

            /**
             * Constructs a new Join.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Join.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Join group. */
            group: string;

            /** Join memberId. */
            memberId: string;

            /** Join clientId. */
            clientId: string;

            /** Join topics. */
            topics: string[];

            /** Join mode. */
            mode: string;

            /** Join sessionTimeout. */
            sessionTimeout?: (google.protobuf.Duration.$Properties|null);

            /** Join rebalanceTimeout. */
            rebalanceTimeout?: (google.protobuf.Duration.$Properties|null);

            /** Join visibilityTimeout. */
            visibilityTimeout?: (google.protobuf.Duration.$Properties|null);

            /** Join autoOffsetReset. */
            autoOffsetReset: string;

            /** Join autoExtend. */
            autoExtend: boolean;

            /**
             * Creates a new Join instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Join instance
             */
            static create(properties: queue.v1.Join.$Shape): queue.v1.Join & queue.v1.Join.$Shape;
            static create(properties?: queue.v1.Join.$Properties): queue.v1.Join;

            /**
             * Encodes the specified Join message. Does not implicitly {@link queue.v1.Join.verify|verify} messages.
             * @param message Join message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Join.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Join message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Join & queue.v1.Join.$Shape} Join
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Join & queue.v1.Join.$Shape;
        }

        namespace Join {

            /** Properties of a Join. */
            interface $Properties {

                /** Join group */
                group?: (string|null);

                /** Join memberId */
                memberId?: (string|null);

                /** Join clientId */
                clientId?: (string|null);

                /** Join topics */
                topics?: (string[]|null);

                /** Join mode */
                mode?: (string|null);

                /** Join sessionTimeout */
                sessionTimeout?: (google.protobuf.Duration.$Properties|null);

                /** Join rebalanceTimeout */
                rebalanceTimeout?: (google.protobuf.Duration.$Properties|null);

                /** Join visibilityTimeout */
                visibilityTimeout?: (google.protobuf.Duration.$Properties|null);

                /** Join autoOffsetReset */
                autoOffsetReset?: (string|null);

                /** Join autoExtend */
                autoExtend?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Join. */
            type $Shape = queue.v1.Join.$Properties;
        }

        /**
         * Properties of a Credit.
         * @deprecated Use queue.v1.Credit.$Properties instead.
         */
        interface ICredit extends queue.v1.Credit.$Properties {
        }

        /** Represents a Credit. */
        class Credit {

            /**
             * Constructs a new Credit.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Credit.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Credit messages. */
            messages: number;

            /** Credit bytes. */
            bytes: number;

            /**
             * Creates a new Credit instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Credit instance
             */
            static create(properties: queue.v1.Credit.$Shape): queue.v1.Credit & queue.v1.Credit.$Shape;
            static create(properties?: queue.v1.Credit.$Properties): queue.v1.Credit;

            /**
             * Encodes the specified Credit message. Does not implicitly {@link queue.v1.Credit.verify|verify} messages.
             * @param message Credit message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Credit.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Credit message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Credit & queue.v1.Credit.$Shape} Credit
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Credit & queue.v1.Credit.$Shape;
        }

        namespace Credit {

            /** Properties of a Credit. */
            interface $Properties {

                /** Credit messages */
                messages?: (number|null);

                /** Credit bytes */
                bytes?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Credit. */
            type $Shape = queue.v1.Credit.$Properties;
        }

        /**
         * Properties of a Position.
         * @deprecated Use queue.v1.Position.$Properties instead.
         */
        interface IPosition extends queue.v1.Position.$Properties {
        }

        /** Represents a Position. */
        class Position {

            /**
             * Constructs a new Position.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Position.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Position topic. */
            topic: string;

            /** Position partition. */
            partition: number;

            /** Position offset. */
            offset: number;

            /**
             * Creates a new Position instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Position instance
             */
            static create(properties: queue.v1.Position.$Shape): queue.v1.Position & queue.v1.Position.$Shape;
            static create(properties?: queue.v1.Position.$Properties): queue.v1.Position;

            /**
             * Encodes the specified Position message. Does not implicitly {@link queue.v1.Position.verify|verify} messages.
             * @param message Position message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Position.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Position message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Position & queue.v1.Position.$Shape} Position
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Position & queue.v1.Position.$Shape;
        }

        namespace Position {

            /** Properties of a Position. */
            interface $Properties {

                /** Position topic */
                topic?: (string|null);

                /** Position partition */
                partition?: (number|null);

                /** Position offset */
                offset?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Position. */
            type $Shape = queue.v1.Position.$Properties;
        }

        /**
         * Properties of an Ack.
         * @deprecated Use queue.v1.Ack.$Properties instead.
         */
        interface IAck extends queue.v1.Ack.$Properties {
        }

        /** Represents an Ack. */
        class Ack {

            /**
             * Constructs a new Ack.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Ack.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Ack receipts. */
            receipts: Uint8Array[];

            /** Ack positions. */
            positions: queue.v1.Position.$Properties[];

            /**
             * Creates a new Ack instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Ack instance
             */
            static create(properties: queue.v1.Ack.$Shape): queue.v1.Ack & queue.v1.Ack.$Shape;
            static create(properties?: queue.v1.Ack.$Properties): queue.v1.Ack;

            /**
             * Encodes the specified Ack message. Does not implicitly {@link queue.v1.Ack.verify|verify} messages.
             * @param message Ack message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Ack.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Ack message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Ack & queue.v1.Ack.$Shape} Ack
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Ack & queue.v1.Ack.$Shape;
        }

        namespace Ack {

            /** Properties of an Ack. */
            interface $Properties {

                /** Ack receipts */
                receipts?: (Uint8Array[]|null);

                /** Ack positions */
                positions?: (queue.v1.Position.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Ack. */
            type $Shape = queue.v1.Ack.$Properties;
        }

        /**
         * Properties of a Nack.
         * @deprecated Use queue.v1.Nack.$Properties instead.
         */
        interface INack extends queue.v1.Nack.$Properties {
        }

        /** Represents a Nack. */
        class Nack {

            /**
             * Constructs a new Nack.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Nack.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Nack receipts. */
            receipts: Uint8Array[];

            /** Nack positions. */
            positions: queue.v1.Position.$Properties[];

            /** Nack requeue. */
            requeue?: (boolean|null);

            /** Nack delay. */
            delay?: (google.protobuf.Duration.$Properties|null);

            /** Nack reason. */
            reason: string;

            /** Nack failed. */
            failed?: (boolean|null);

            /**
             * Creates a new Nack instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Nack instance
             */
            static create(properties: queue.v1.Nack.$Shape): queue.v1.Nack & queue.v1.Nack.$Shape;
            static create(properties?: queue.v1.Nack.$Properties): queue.v1.Nack;

            /**
             * Encodes the specified Nack message. Does not implicitly {@link queue.v1.Nack.verify|verify} messages.
             * @param message Nack message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Nack.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Nack message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Nack & queue.v1.Nack.$Shape} Nack
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Nack & queue.v1.Nack.$Shape;
        }

        namespace Nack {

            /** Properties of a Nack. */
            interface $Properties {

                /** Nack receipts */
                receipts?: (Uint8Array[]|null);

                /** Nack positions */
                positions?: (queue.v1.Position.$Properties[]|null);

                /** Nack requeue */
                requeue?: (boolean|null);

                /** Nack delay */
                delay?: (google.protobuf.Duration.$Properties|null);

                /** Nack reason */
                reason?: (string|null);

                /** Nack failed */
                failed?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Nack. */
            type $Shape = queue.v1.Nack.$Properties;
        }

        /**
         * Properties of an Extend.
         * @deprecated Use queue.v1.Extend.$Properties instead.
         */
        interface IExtend extends queue.v1.Extend.$Properties {
        }

        /** Represents an Extend. */
        class Extend {

            /**
             * Constructs a new Extend.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Extend.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Extend receipts. */
            receipts: Uint8Array[];

            /** Extend positions. */
            positions: queue.v1.Position.$Properties[];

            /** Extend timeout. */
            timeout?: (google.protobuf.Duration.$Properties|null);

            /**
             * Creates a new Extend instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Extend instance
             */
            static create(properties: queue.v1.Extend.$Shape): queue.v1.Extend & queue.v1.Extend.$Shape;
            static create(properties?: queue.v1.Extend.$Properties): queue.v1.Extend;

            /**
             * Encodes the specified Extend message. Does not implicitly {@link queue.v1.Extend.verify|verify} messages.
             * @param message Extend message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Extend.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Extend message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Extend & queue.v1.Extend.$Shape} Extend
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Extend & queue.v1.Extend.$Shape;
        }

        namespace Extend {

            /** Properties of an Extend. */
            interface $Properties {

                /** Extend receipts */
                receipts?: (Uint8Array[]|null);

                /** Extend positions */
                positions?: (queue.v1.Position.$Properties[]|null);

                /** Extend timeout */
                timeout?: (google.protobuf.Duration.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Extend. */
            type $Shape = queue.v1.Extend.$Properties;
        }

        /**
         * Properties of a CommitOffset.
         * @deprecated Use queue.v1.CommitOffset.$Properties instead.
         */
        interface ICommitOffset extends queue.v1.CommitOffset.$Properties {
        }

        /** Represents a CommitOffset. */
        class CommitOffset {

            /**
             * Constructs a new CommitOffset.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.CommitOffset.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** CommitOffset topic. */
            topic: string;

            /** CommitOffset partition. */
            partition: number;

            /** CommitOffset offset. */
            offset: number;

            /** CommitOffset metadata. */
            metadata: string;

            /**
             * Creates a new CommitOffset instance using the specified properties.
             * @param [properties] Properties to set
             * @returns CommitOffset instance
             */
            static create(properties: queue.v1.CommitOffset.$Shape): queue.v1.CommitOffset & queue.v1.CommitOffset.$Shape;
            static create(properties?: queue.v1.CommitOffset.$Properties): queue.v1.CommitOffset;

            /**
             * Encodes the specified CommitOffset message. Does not implicitly {@link queue.v1.CommitOffset.verify|verify} messages.
             * @param message CommitOffset message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.CommitOffset.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a CommitOffset message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.CommitOffset & queue.v1.CommitOffset.$Shape} CommitOffset
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.CommitOffset & queue.v1.CommitOffset.$Shape;
        }

        namespace CommitOffset {

            /** Properties of a CommitOffset. */
            interface $Properties {

                /** CommitOffset topic */
                topic?: (string|null);

                /** CommitOffset partition */
                partition?: (number|null);

                /** CommitOffset offset */
                offset?: (number|null);

                /** CommitOffset metadata */
                metadata?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a CommitOffset. */
            type $Shape = queue.v1.CommitOffset.$Properties;
        }

        /**
         * Properties of a Commit.
         * @deprecated Use queue.v1.Commit.$Properties instead.
         */
        interface ICommit extends queue.v1.Commit.$Properties {
        }

        /** Represents a Commit. */
        class Commit {

            /**
             * Constructs a new Commit.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Commit.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Commit offsets. */
            offsets: queue.v1.CommitOffset.$Properties[];

            /**
             * Creates a new Commit instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Commit instance
             */
            static create(properties: queue.v1.Commit.$Shape): queue.v1.Commit & queue.v1.Commit.$Shape;
            static create(properties?: queue.v1.Commit.$Properties): queue.v1.Commit;

            /**
             * Encodes the specified Commit message. Does not implicitly {@link queue.v1.Commit.verify|verify} messages.
             * @param message Commit message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Commit.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Commit message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Commit & queue.v1.Commit.$Shape} Commit
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Commit & queue.v1.Commit.$Shape;
        }

        namespace Commit {

            /** Properties of a Commit. */
            interface $Properties {

                /** Commit offsets */
                offsets?: (queue.v1.CommitOffset.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Commit. */
            type $Shape = queue.v1.Commit.$Properties;
        }

        /**
         * Properties of a Leave.
         * @deprecated Use queue.v1.Leave.$Properties instead.
         */
        interface ILeave extends queue.v1.Leave.$Properties {
        }

        /** Represents a Leave. */
        class Leave {

            /**
             * Constructs a new Leave.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Leave.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /**
             * Creates a new Leave instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Leave instance
             */
            static create(properties: queue.v1.Leave.$Shape): queue.v1.Leave & queue.v1.Leave.$Shape;
            static create(properties?: queue.v1.Leave.$Properties): queue.v1.Leave;

            /**
             * Encodes the specified Leave message. Does not implicitly {@link queue.v1.Leave.verify|verify} messages.
             * @param message Leave message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Leave.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Leave message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Leave & queue.v1.Leave.$Shape} Leave
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Leave & queue.v1.Leave.$Shape;
        }

        namespace Leave {

            /** Properties of a Leave. */
            interface $Properties {

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Leave. */
            type $Shape = queue.v1.Leave.$Properties;
        }

        /**
         * Properties of a Pong.
         * @deprecated Use queue.v1.Pong.$Properties instead.
         */
        interface IPong extends queue.v1.Pong.$Properties {
        }

        /** Represents a Pong. */
        class Pong {

            /**
             * Constructs a new Pong.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Pong.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Pong nonce. */
            nonce: number;

            /**
             * Creates a new Pong instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Pong instance
             */
            static create(properties: queue.v1.Pong.$Shape): queue.v1.Pong & queue.v1.Pong.$Shape;
            static create(properties?: queue.v1.Pong.$Properties): queue.v1.Pong;

            /**
             * Encodes the specified Pong message. Does not implicitly {@link queue.v1.Pong.verify|verify} messages.
             * @param message Pong message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Pong.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Pong message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Pong & queue.v1.Pong.$Shape} Pong
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Pong & queue.v1.Pong.$Shape;
        }

        namespace Pong {

            /** Properties of a Pong. */
            interface $Properties {

                /** Pong nonce */
                nonce?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Pong. */
            type $Shape = queue.v1.Pong.$Properties;
        }

        /**
         * Properties of a TopicPartitions.
         * @deprecated Use queue.v1.TopicPartitions.$Properties instead.
         */
        interface ITopicPartitions extends queue.v1.TopicPartitions.$Properties {
        }

        /** Represents a TopicPartitions. */
        class TopicPartitions {

            /**
             * Constructs a new TopicPartitions.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.TopicPartitions.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** TopicPartitions topic. */
            topic: string;

            /** TopicPartitions partitions. */
            partitions: number[];

            /**
             * Creates a new TopicPartitions instance using the specified properties.
             * @param [properties] Properties to set
             * @returns TopicPartitions instance
             */
            static create(properties: queue.v1.TopicPartitions.$Shape): queue.v1.TopicPartitions & queue.v1.TopicPartitions.$Shape;
            static create(properties?: queue.v1.TopicPartitions.$Properties): queue.v1.TopicPartitions;

            /**
             * Encodes the specified TopicPartitions message. Does not implicitly {@link queue.v1.TopicPartitions.verify|verify} messages.
             * @param message TopicPartitions message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.TopicPartitions.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a TopicPartitions message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.TopicPartitions & queue.v1.TopicPartitions.$Shape} TopicPartitions
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.TopicPartitions & queue.v1.TopicPartitions.$Shape;
        }

        namespace TopicPartitions {

            /** Properties of a TopicPartitions. */
            interface $Properties {

                /** TopicPartitions topic */
                topic?: (string|null);

                /** TopicPartitions partitions */
                partitions?: (number[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a TopicPartitions. */
            type $Shape = queue.v1.TopicPartitions.$Properties;
        }

        /**
         * Properties of an Assignment.
         * @deprecated Use queue.v1.Assignment.$Properties instead.
         */
        interface IAssignment extends queue.v1.Assignment.$Properties {
        }

        /** Represents an Assignment. */
        class Assignment {

            /**
             * Constructs a new Assignment.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Assignment.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Assignment group. */
            group: string;

            /** Assignment memberId. */
            memberId: string;

            /** Assignment generation. */
            generation: number;

            /** Assignment partitions. */
            partitions: queue.v1.TopicPartitions.$Properties[];

            /** Assignment leaderId. */
            leaderId: string;

            /** Assignment draining. */
            draining: boolean;

            /** Assignment sessionTimeout. */
            sessionTimeout?: (google.protobuf.Duration.$Properties|null);

            /**
             * Creates a new Assignment instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Assignment instance
             */
            static create(properties: queue.v1.Assignment.$Shape): queue.v1.Assignment & queue.v1.Assignment.$Shape;
            static create(properties?: queue.v1.Assignment.$Properties): queue.v1.Assignment;

            /**
             * Encodes the specified Assignment message. Does not implicitly {@link queue.v1.Assignment.verify|verify} messages.
             * @param message Assignment message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Assignment.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Assignment message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Assignment & queue.v1.Assignment.$Shape} Assignment
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Assignment & queue.v1.Assignment.$Shape;
        }

        namespace Assignment {

            /** Properties of an Assignment. */
            interface $Properties {

                /** Assignment group */
                group?: (string|null);

                /** Assignment memberId */
                memberId?: (string|null);

                /** Assignment generation */
                generation?: (number|null);

                /** Assignment partitions */
                partitions?: (queue.v1.TopicPartitions.$Properties[]|null);

                /** Assignment leaderId */
                leaderId?: (string|null);

                /** Assignment draining */
                draining?: (boolean|null);

                /** Assignment sessionTimeout */
                sessionTimeout?: (google.protobuf.Duration.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Assignment. */
            type $Shape = queue.v1.Assignment.$Properties;
        }

        /**
         * Properties of a Revoke.
         * @deprecated Use queue.v1.Revoke.$Properties instead.
         */
        interface IRevoke extends queue.v1.Revoke.$Properties {
        }

        /** Represents a Revoke. */
        class Revoke {

            /**
             * Constructs a new Revoke.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Revoke.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Revoke generation. */
            generation: number;

            /** Revoke partitions. */
            partitions: queue.v1.TopicPartitions.$Properties[];

            /** Revoke deadline. */
            deadline?: (google.protobuf.Timestamp.$Properties|null);

            /**
             * Creates a new Revoke instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Revoke instance
             */
            static create(properties: queue.v1.Revoke.$Shape): queue.v1.Revoke & queue.v1.Revoke.$Shape;
            static create(properties?: queue.v1.Revoke.$Properties): queue.v1.Revoke;

            /**
             * Encodes the specified Revoke message. Does not implicitly {@link queue.v1.Revoke.verify|verify} messages.
             * @param message Revoke message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Revoke.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Revoke message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Revoke & queue.v1.Revoke.$Shape} Revoke
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Revoke & queue.v1.Revoke.$Shape;
        }

        namespace Revoke {

            /** Properties of a Revoke. */
            interface $Properties {

                /** Revoke generation */
                generation?: (number|null);

                /** Revoke partitions */
                partitions?: (queue.v1.TopicPartitions.$Properties[]|null);

                /** Revoke deadline */
                deadline?: (google.protobuf.Timestamp.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Revoke. */
            type $Shape = queue.v1.Revoke.$Properties;
        }

        /**
         * Properties of a MessageBatch.
         * @deprecated Use queue.v1.MessageBatch.$Properties instead.
         */
        interface IMessageBatch extends queue.v1.MessageBatch.$Properties {
        }

        /** Represents a MessageBatch. */
        class MessageBatch {

            /**
             * Constructs a new MessageBatch.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.MessageBatch.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** MessageBatch messages. */
            messages: queue.v1.Message.$Properties[];

            /**
             * Creates a new MessageBatch instance using the specified properties.
             * @param [properties] Properties to set
             * @returns MessageBatch instance
             */
            static create(properties: queue.v1.MessageBatch.$Shape): queue.v1.MessageBatch & queue.v1.MessageBatch.$Shape;
            static create(properties?: queue.v1.MessageBatch.$Properties): queue.v1.MessageBatch;

            /**
             * Encodes the specified MessageBatch message. Does not implicitly {@link queue.v1.MessageBatch.verify|verify} messages.
             * @param message MessageBatch message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.MessageBatch.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a MessageBatch message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.MessageBatch & queue.v1.MessageBatch.$Shape} MessageBatch
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.MessageBatch & queue.v1.MessageBatch.$Shape;
        }

        namespace MessageBatch {

            /** Properties of a MessageBatch. */
            interface $Properties {

                /** MessageBatch messages */
                messages?: (queue.v1.Message.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a MessageBatch. */
            type $Shape = queue.v1.MessageBatch.$Properties;
        }

        /**
         * Properties of a Result.
         * @deprecated Use queue.v1.Result.$Properties instead.
         */
        interface IResult extends queue.v1.Result.$Properties {
        }

        /** Represents a Result. */
        class Result {

            /**
             * Constructs a new Result.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Result.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Result succeeded. */
            succeeded: number;

            /** Result errors. */
            errors: queue.v1.ItemError.$Properties[];

            /**
             * Creates a new Result instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Result instance
             */
            static create(properties: queue.v1.Result.$Shape): queue.v1.Result & queue.v1.Result.$Shape;
            static create(properties?: queue.v1.Result.$Properties): queue.v1.Result;

            /**
             * Encodes the specified Result message. Does not implicitly {@link queue.v1.Result.verify|verify} messages.
             * @param message Result message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Result.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Result message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Result & queue.v1.Result.$Shape} Result
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Result & queue.v1.Result.$Shape;
        }

        namespace Result {

            /** Properties of a Result. */
            interface $Properties {

                /** Result succeeded */
                succeeded?: (number|null);

                /** Result errors */
                errors?: (queue.v1.ItemError.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Result. */
            type $Shape = queue.v1.Result.$Properties;
        }

        /**
         * Properties of an ItemError.
         * @deprecated Use queue.v1.ItemError.$Properties instead.
         */
        interface IItemError extends queue.v1.ItemError.$Properties {
        }

        /** Represents an ItemError. */
        class ItemError {

            /**
             * Constructs a new ItemError.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.ItemError.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ItemError index. */
            index: number;

            /** ItemError error. */
            error?: (queue.v1.Error.$Properties|null);

            /**
             * Creates a new ItemError instance using the specified properties.
             * @param [properties] Properties to set
             * @returns ItemError instance
             */
            static create(properties: queue.v1.ItemError.$Shape): queue.v1.ItemError & queue.v1.ItemError.$Shape;
            static create(properties?: queue.v1.ItemError.$Properties): queue.v1.ItemError;

            /**
             * Encodes the specified ItemError message. Does not implicitly {@link queue.v1.ItemError.verify|verify} messages.
             * @param message ItemError message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.ItemError.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an ItemError message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.ItemError & queue.v1.ItemError.$Shape} ItemError
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.ItemError & queue.v1.ItemError.$Shape;
        }

        namespace ItemError {

            /** Properties of an ItemError. */
            interface $Properties {

                /** ItemError index */
                index?: (number|null);

                /** ItemError error */
                error?: (queue.v1.Error.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an ItemError. */
            type $Shape = queue.v1.ItemError.$Properties;
        }

        /**
         * Properties of a Ping.
         * @deprecated Use queue.v1.Ping.$Properties instead.
         */
        interface IPing extends queue.v1.Ping.$Properties {
        }

        /** Represents a Ping. */
        class Ping {

            /**
             * Constructs a new Ping.
             * @param [properties] Properties to set
             */
            constructor(properties?: queue.v1.Ping.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Ping nonce. */
            nonce: number;

            /** Ping timestamp. */
            timestamp?: (google.protobuf.Timestamp.$Properties|null);

            /**
             * Creates a new Ping instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Ping instance
             */
            static create(properties: queue.v1.Ping.$Shape): queue.v1.Ping & queue.v1.Ping.$Shape;
            static create(properties?: queue.v1.Ping.$Properties): queue.v1.Ping;

            /**
             * Encodes the specified Ping message. Does not implicitly {@link queue.v1.Ping.verify|verify} messages.
             * @param message Ping message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: queue.v1.Ping.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Ping message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {queue.v1.Ping & queue.v1.Ping.$Shape} Ping
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): queue.v1.Ping & queue.v1.Ping.$Shape;
        }

        namespace Ping {

            /** Properties of a Ping. */
            interface $Properties {

                /** Ping nonce */
                nonce?: (number|null);

                /** Ping timestamp */
                timestamp?: (google.protobuf.Timestamp.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Ping. */
            type $Shape = queue.v1.Ping.$Properties;
        }
    }
}

/** Namespace google. */
export namespace google {

    /** Namespace protobuf. */
    namespace protobuf {

        /**
         * Properties of a Duration.
         * @deprecated Use google.protobuf.Duration.$Properties instead.
         */
        interface IDuration extends google.protobuf.Duration.$Properties {
        }

        /** Represents a Duration. */
        class Duration {

            /**
             * Constructs a new Duration.
             * @param [properties] Properties to set
             */
            constructor(properties?: google.protobuf.Duration.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Duration seconds. */
            seconds: number;

            /** Duration nanos. */
            nanos: number;

            /**
             * Creates a new Duration instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Duration instance
             */
            static create(properties: google.protobuf.Duration.$Shape): google.protobuf.Duration & google.protobuf.Duration.$Shape;
            static create(properties?: google.protobuf.Duration.$Properties): google.protobuf.Duration;

            /**
             * Encodes the specified Duration message. Does not implicitly {@link google.protobuf.Duration.verify|verify} messages.
             * @param message Duration message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: google.protobuf.Duration.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Duration message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {google.protobuf.Duration & google.protobuf.Duration.$Shape} Duration
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): google.protobuf.Duration & google.protobuf.Duration.$Shape;
        }

        namespace Duration {

            /** Properties of a Duration. */
            interface $Properties {

                /** Duration seconds */
                seconds?: (number|null);

                /** Duration nanos */
                nanos?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Duration. */
            type $Shape = google.protobuf.Duration.$Properties;
        }

        /**
         * Properties of a Timestamp.
         * @deprecated Use google.protobuf.Timestamp.$Properties instead.
         */
        interface ITimestamp extends google.protobuf.Timestamp.$Properties {
        }

        /** Represents a Timestamp. */
        class Timestamp {

            /**
             * Constructs a new Timestamp.
             * @param [properties] Properties to set
             */
            constructor(properties?: google.protobuf.Timestamp.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Timestamp seconds. */
            seconds: number;

            /** Timestamp nanos. */
            nanos: number;

            /**
             * Creates a new Timestamp instance using the specified properties.
             * @param [properties] Properties to set
             * @returns Timestamp instance
             */
            static create(properties: google.protobuf.Timestamp.$Shape): google.protobuf.Timestamp & google.protobuf.Timestamp.$Shape;
            static create(properties?: google.protobuf.Timestamp.$Properties): google.protobuf.Timestamp;

            /**
             * Encodes the specified Timestamp message. Does not implicitly {@link google.protobuf.Timestamp.verify|verify} messages.
             * @param message Timestamp message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: google.protobuf.Timestamp.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Timestamp message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {google.protobuf.Timestamp & google.protobuf.Timestamp.$Shape} Timestamp
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): google.protobuf.Timestamp & google.protobuf.Timestamp.$Shape;
        }

        namespace Timestamp {

            /** Properties of a Timestamp. */
            interface $Properties {

                /** Timestamp seconds */
                seconds?: (number|null);

                /** Timestamp nanos */
                nanos?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Timestamp. */
            type $Shape = google.protobuf.Timestamp.$Properties;
        }
    }
}
