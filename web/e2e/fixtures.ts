/** What every test in the browser starts from: `broker`, `page` and `faults`. */
import { test as base, expect } from "@playwright/test";
import { Broker, type BrokerOptions } from "./broker";
import { Faults } from "./faults";

export { expect };

interface Fixtures {
  /** Options of the broker; `test.use({ brokerOptions: … })` sets them. */
  brokerOptions: BrokerOptions;
  /** A broker of this test alone. */
  broker: Broker;
  /** Whatever it has found at the end fails the test. */
  faults: Faults;
}

export const test = base.extend<Fixtures>({
  brokerOptions: [{}, { option: true }],
  broker: async ({ brokerOptions }, use, info) => {
    const broker = await Broker.start(brokerOptions);
    await use(broker);
    if (info.status !== info.expectedStatus) await info.attach("broker.log", { body: broker.log() });
    await broker.remove();
  },
  faults: async ({ broker }, use) => {
    const faults = new Faults(() => broker.address);
    await use(faults);
    expect(faults.found, "faults in the browser").toEqual([]);
  },
  baseURL: async ({ broker }, use) => use(broker.address),
  context: async ({ context, faults }, use) => {
    await faults.watch(context);
    await use(context);
  },
});
