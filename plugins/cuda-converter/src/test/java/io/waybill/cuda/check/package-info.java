/**
 * What {@code tools/gpu-check} takes to a machine with a GPU: the tests tagged {@code gpu}, a benchmark, and a program that runs both. In a build the tests run
 * on the driver of the tests.
 */
package io.waybill.cuda.check;
