/** {@code waybill call}, and the short-lived worker with which commands call nodes. */
package io.waybill.cli.call;
