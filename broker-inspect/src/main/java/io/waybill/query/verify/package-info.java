/** Whether what lies in a home is what was written there. {@link io.waybill.query.verify.Verifier} is where to start. */
package io.waybill.query.verify;
