/** Verification of a home's content. {@link io.waybill.query.verify.Verifier} is the starting point. */
package io.waybill.query.verify;
