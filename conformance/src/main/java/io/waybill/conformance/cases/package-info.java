/** Files of conformance cases: {@link io.waybill.conformance.cases.CaseFile} reads and checks one. */
package io.waybill.conformance.cases;
