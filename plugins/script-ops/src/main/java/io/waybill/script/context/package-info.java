/**
 * Environment of functions beyond their arguments and other workers: contexts of distributed autograd, and scopes of
 * profiles.
 */
package io.waybill.script.context;
