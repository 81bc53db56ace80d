/** Control messages between owners and users, and the policy of their retries. */
package io.waybill.rref.control;
