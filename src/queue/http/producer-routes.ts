import { z } from "zod";
import { readJson } from "../../platform/http/read-body.ts";
import type { QueueService } from "../service/queue-service.ts";
import { nonEmptyField } from "./body-fields.ts";
import type { Route } from "./route.ts";

const initSchema = z.object({
  transactional_id: nonEmptyField,
  /** Some clients send a name of their own under this field. */
  producer_id: z
    .union([z.string(), z.int()])
    .nullish()
    .transform((value) => (typeof value === "string" && value !== "" ? value : undefined)),
});

const initResponseSchema = z
  .object({
    producer_id: z.int().min(1),
    epoch: z.int().min(0),
    producer_epoch: z.int().min(0),
    transactional_id: z.string().optional(),
  })
  .meta({ id: "Producer" });

export function createProducerRoutes(service: QueueService): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/producers/init",
      operationId: "initProducer",
      tag: "Producers",
      summary: "Get a producer id, with which a repeated message is stored once",
      description:
        "With a transactional_id the same producer comes back under the next epoch, and whoever used the last one is fenced.",
      body: { "application/json": initSchema },
      status: 200,
      response: initResponseSchema,
      errors: [415],
      handle: async (context) => {
        const body = await readJson(context, { schema: initSchema, emptyBody: {} });
        const transactionalId = body.transactional_id ?? body.producer_id;
        const { producerId, producerEpoch } = await service.initProducer({ transactionalId });
        return context.json({
          producer_id: producerId,
          epoch: producerEpoch,
          producer_epoch: producerEpoch,
          ...(transactionalId === undefined ? {} : { transactional_id: transactionalId }),
        });
      },
    },
  ];
}
