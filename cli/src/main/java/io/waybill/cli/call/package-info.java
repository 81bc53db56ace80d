/** {@code waybill call}, and the short-lived worker by which commands call nodes. */
package io.waybill.cli.call;
